#include "model/graph/text/text.h"

#include "model/graph/canonical_hash.h"
#include "model/graph/testing.h"

namespace isomer {
namespace {

using testing::parsed;
using testing::value_named;

std::string refusal(std::string_view text) {
  const auto result = parse_graph(text);
  return result.ok() ? "accepted" : result.error().message;
}

constexpr std::string_view kExample = R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
agraph (float[N, 128] x, float[2] scale, int64[] k, bool q) => (float[N] y, seq(float[?, "batch size"]) s)
<
  float[2] scale = {1, -2.5},
  double e = {1e-300},
  string[2] names = {"a \"b\"", ""},
  int4[3] packed = {-8, 7, 1},
  float16[1] half = {15360},
  complex64[1] c = {1, -1},
  bool[0] none = {},
  float[N, 10] t
>
{
  t = Clip (x, "", scale)
  [label] y, "" = com.microsoft.Gelu:fast <a = 1, b = 1.0, c = "s", d = [1, 2], e: floats = [], f = inf, g = float[1] {2}> (t, scale)
  s = If <else_branch: raw_graph = "00", then_branch: raw_graph = "0a00ff", captures: values = [x, t]> (q)
}
)";

TEST(Text, PrintsWhatItParsed) { EXPECT_EQ(text(parsed(kExample)), kExample); }

TEST(Text, ReadsEveryPartOfTheExample) {
  const Graph graph = parsed(kExample);
  EXPECT_EQ(graph.opset("com.microsoft"), 1);
  EXPECT_TRUE(graph.is_overridable(value_named(graph, "scale").node));
  const Node& gelu = graph.node(value_named(graph, "y").node);
  EXPECT_EQ(gelu.name, "label");
  EXPECT_EQ(gelu.op, "Gelu");
  EXPECT_EQ(gelu.domain, "com.microsoft");
  EXPECT_EQ(gelu.overload, "fast");
  EXPECT_EQ(gelu.outputs, (std::vector<std::string>{"y", ""}));
  EXPECT_EQ(*gelu.attributes.find_as<std::int64_t>("a"), 1);
  EXPECT_EQ(*gelu.attributes.find_as<float>("b"), 1.0f);
  EXPECT_EQ(*gelu.attributes.find_as<std::vector<std::int64_t>>("d"), (std::vector<std::int64_t>{1, 2}));
  EXPECT_FALSE(graph.node(value_named(graph, "t").node).inputs[1].exists());
  const Tensor& packed = graph.node(value_named(graph, "packed").node).tensor;
  EXPECT_EQ(packed.bytes().size, 2u);
  EXPECT_EQ(static_cast<int>(packed.bytes().data[0]), 0x78);
  EXPECT_FALSE(graph.declared().at("s").is_tensor);
  EXPECT_EQ(graph.declared().at("t").shape->at(1), Dim(10));
}

TEST(Text, ReadsWhatOnnxPrints) {
  // onnx.printer.to_text of onnx 1.23.2.
  const Graph graph = parsed(R"(<
   ir_version: 8,
   opset_import: ["" : 17],
   producer_name: "test",
   metadata_props: ["a": "b"]
>
agraph (float[N,3,8,8] x, float[4] b) => (float[N,4,8,8] y)
   <float[4,3,1,1] w =  {1,2,3,4,5,6,7,8,9,10,11,12}, float[4] b =  {0.1,0,1e-10,-3}, float[N,4,8,8] t>
{
   [conv] t = Conv <kernel_shape: ints = [1, 1], auto_pad: string = "VALID"> (x, w, b)
   y = LeakyRelu <alpha: float = 1> (t)
}
)");
  EXPECT_EQ(graph.operator_count(), 2u);
  EXPECT_EQ(*graph.node(value_named(graph, "y").node).attributes.find_as<float>("alpha"), 1.0f);
}

TEST(Text, AcceptsAttributesAfterInputsAndComments) {
  const Graph graph = parsed(R"(# a model
    <opset_import: ["ai.onnx" : 13]> g (float x) => (float y) { # nodes
      y = ai.onnx.Elu (x,) <alpha = 0.5>   # attributes last
    })");
  const Node& elu = graph.node(value_named(graph, "y").node);
  EXPECT_EQ(elu.domain, "");
  EXPECT_EQ(elu.inputs.size(), 1u);
  EXPECT_EQ(*elu.attributes.find_as<float>("alpha"), 0.5f);
  EXPECT_EQ(graph.opset(""), 13);
}

TEST(Text, IsTheSameGraphAfterPrintingAndParsing) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 500; ++i) {
    const Graph graph = testing::random_graph(random, 12);
    const std::string printed = text(graph);
    const Graph again = parsed(printed, TextCalls::Any);
    EXPECT_EQ(text(again), printed);
    EXPECT_EQ(canonical_hashes(again).graph, canonical_hashes(graph).graph) << printed;
    EXPECT_TRUE(again.declared() == graph.declared()) << printed;
    ASSERT_EQ(again.inputs().size(), graph.inputs().size());
    for (std::size_t k = 0; k < graph.inputs().size(); ++k)
      EXPECT_EQ(again.name_of(again.inputs()[k]), graph.name_of(graph.inputs()[k]));
  }
}

TEST(Text, InventsNamesForValuesThatHaveNoneOfTheirOwn) {
  Graph graph = testing::relu_chain(1);
  const Value x = graph.inputs()[0];
  const Value same = {graph.add(testing::relu({graph.add(testing::relu(x, "")), 0}, "v0")), 0};
  graph.add_output(same);
  const Graph again = parsed(text(graph));
  EXPECT_EQ(again.operator_count(), 3u);
  EXPECT_EQ(canonical_hashes(again).of(again.outputs()[1]),
            canonical_hashes(testing::relu_chain(2)).of({2, 0}));
}

TEST(Text, LeavesOutTheElementsOfLargeTensorsWhereAsked) {
  const Graph graph = parsed(R"(<opset_import: ["" : 17]> g () => (w) <float[3] w = {1, 2, 3}> {})");
  const std::string brief = text(graph, {.most_elements = 2});
  EXPECT_NE(brief.find("float[3] w = {...}"), std::string::npos);
  EXPECT_EQ(refusal(brief), "line 4, column 20: the elements are left out");
}

TEST(Text, SaysWhereItStoppedUnderstanding) {
  EXPECT_EQ(refusal(""), "line 1, column 1: expected a name");
  EXPECT_EQ(refusal("g (float x) => (y) {\n  y = Relu (z)\n}"),
            "line 2, column 13: z is not defined before this");
  EXPECT_EQ(refusal("g (float x) => (y) {\n  y = Relu x\n}"), "line 2, column 12: expected '('");
  EXPECT_EQ(refusal("g (float x) => (y) { x = Relu (x) }"), "line 1, column 22: x is defined twice");
  EXPECT_EQ(refusal("g (flat x) => (y) {}"), "line 1, column 9: expected ')'");
  EXPECT_EQ(refusal("g (float x) => (y) {}"), "line 1, column 17: y is not defined before this");
  EXPECT_EQ(refusal("g (float x"), "line 1, column 11: expected ')'");
  EXPECT_EQ(refusal("g () => () {"), "line 1, column 13: expected '='");
  EXPECT_EQ(refusal("g () => () {} f () => () {}"),
            "line 1, column 15: local functions are not read; expected the end");
}

// What a file may not have, a text may not either: no operator ignores an attribute.
TEST(Text, RefusesCallsThatNoFileMayHave) {
  const auto refused = [](const std::string& node) {
    return refusal("<opset_import: [\"\" : 18, \"acme\" : 1]> g (float[2] x) => () { " + node + " }");
  };
  EXPECT_EQ(refused("y = Relu <banana = 3> (x)"),
            "line 1, column 62: Relu: attribute banana is unknown to Relu of version 14");
  EXPECT_NE(refused("y = ReduceMean <axes = [0]> (x)"), "accepted");
  EXPECT_NE(refused("y = Elu <alpha = 1> (x)"), "accepted");
  EXPECT_NE(refused("y = Concat (x, x)"), "accepted");
  EXPECT_NE(refused("y = Relu (x, x)"), "accepted");
  EXPECT_NE(refused("y, z = Relu (x)"), "accepted");
  EXPECT_NE(refused("y = Frobnicate (x)"), "accepted");
  EXPECT_NE(refused("y = Gelu (x)"), "accepted");  // of opset 20
  EXPECT_EQ(refused("y = acme.Frobnicate <banana = 3> (x)"), "accepted");
  EXPECT_EQ(refused("y = Elu <alpha = 1.0> (x)"), "accepted");
}

TEST(Text, RefusesTensorsThatDoNotFitTheirTypes) {
  const auto with = [](std::string_view tensor) {
    return refusal(std::string("g () => () <") + std::string(tensor) + "> {}");
  };
  EXPECT_EQ(with("float[2] w = {1}"), "line 1, column 29: 1 elements where 2 are declared");
  EXPECT_EQ(with("uint8 w = {256}"), "line 1, column 24: 256 is no uint8");
  EXPECT_EQ(with("int4 w = {-9}"), "line 1, column 23: -9 is no int4");
  EXPECT_EQ(with("int64 w = {1.5}"), "line 1, column 24: 1.5 is no int64");
  EXPECT_EQ(with("float w = {1e99}"), "line 1, column 24: 1e99 is no float");
  EXPECT_EQ(with("bool w = {2}"), "line 1, column 23: 2 is no bool");
  EXPECT_EQ(with("float[N] w = {2}"), "line 1, column 26: a tensor needs a type with every extent");
  EXPECT_EQ(with("float[-1] w = {}"), "line 1, column 27: the tensor is too large");
  EXPECT_EQ(with("float[9999999999, 9999999999] w = {}"), "line 1, column 47: the tensor is too large");
  EXPECT_EQ(with("float w = [\"location\": \"/etc/passwd\"]"),
            "line 1, column 23: external data is not read");
}

TEST(Text, RefusesAttributesItCannotHold) {
  const auto with = [](std::string_view attribute) {
    return refusal(std::string("g () => () { y = Op <") + std::string(attribute) + "> () }");
  };
  EXPECT_EQ(with("a = []"), "line 1, column 26: an empty list needs a type: ints, floats or strings");
  EXPECT_EQ(with("a = [1, \"b\"]"), "line 1, column 26: elements of different types");
  EXPECT_EQ(with("a = body () => () {}"), "line 1, column 26: subgraphs are not read");
  EXPECT_EQ(with("a: raw = \"0g\""), "line 1, column 31: expected bytes in hexadecimal");
  EXPECT_EQ(with("a: int = \"s\""), "line 1, column 31: expected a value of type int");
  EXPECT_EQ(with("a = 1, a = 2"), "line 1, column 29: a is given twice");
  EXPECT_EQ(with("a = 99999999999999999999"), "line 1, column 26: 99999999999999999999 is no 64-bit integer");
}

TEST(Text, BoundsTheDepthOfTypes) {
  std::string deep = "g (";
  for (int i = 0; i < 100'000; ++i) deep += "seq(";
  EXPECT_NE(refusal(deep).find("types are nested too deeply"), std::string::npos);
}

TEST(Text, RefusesNumbersOfTypesThatHaveNone) {
  for (const std::string type : {"field_pair", "string"})
    EXPECT_NE(refusal("g (float x) => (float y) <" + type + "[1] a = {1}> { y = Relu (x) }"), "") << type;
}

TEST(Text, NeverCrashesOnGarbage) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 3000; ++i) {
    std::string damaged(kExample);
    for (auto changes = random() % 4; changes < 5; ++changes) {
      const auto at = random() % damaged.size();
      switch (random() % 3) {
        case 0: damaged[at] = static_cast<char>(random()); break;
        case 1: damaged.erase(at, random() % 20); break;
        default: damaged.insert(at, kExample.substr(random() % kExample.size(), random() % 20)); break;
      }
    }
    const auto result = parse_graph(damaged);
    if (result.ok()) EXPECT_EQ(text(parsed(text(*result))), text(*result));
    else EXPECT_EQ(result.error().message.substr(0, 5), "line ");
  }
}

TEST(Text, PrintsAndParsesAChainOf200000Nodes) {
  const Graph graph = testing::relu_chain(200'000);
  EXPECT_EQ(parsed(text(graph)).operator_count(), 200'000u);
}

}  // namespace
}  // namespace isomer
