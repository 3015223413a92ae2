#include "model/graph/infer.h"

#include "model/graph/testing.h"

namespace isomer {
namespace {

using testing::parsed;
using testing::value_named;

Inference inferred(const Graph& graph, const InferOptions& options = {}) {
  auto result = infer(graph, options);
  if (!result.ok()) throw std::runtime_error(result.error().message);
  return std::move(result).value();
}

// "float[N, 4]", or "?" where something isn't known.
std::string type_of(const Graph& graph, const Inference& inference, std::string_view name) {
  const ValueInfo& info = inference.of(value_named(graph, name));
  if (info.type == ElementType::Undefined || !info.shape) return "?";
  return text(TensorType{info.type, *info.shape});
}

std::string integers_of(const Graph& graph, const Inference& inference, std::string_view name) {
  const ValueInfo& info = inference.of(value_named(graph, name));
  return info.integers ? text(*info.integers) : "?";
}

std::string error_of(std::string_view text, const InferOptions& options = {}) {
  const auto result = infer(parsed(text, TextCalls::Any), options);
  return result.ok() ? "accepted" : result.error().message;
}

TEST(Infer, TakesShapesFromFormulas) {
  const Graph graph = parsed(R"(<opset_import: ["" : 17]> g (float[N, 3, 8, 8] x) => (z)
    <float[4, 3, 3, 3] w = {)" +
                             std::string("0") +
                             [] {
                               std::string s;
                               for (int i = 1; i < 108; ++i) s += ",0";
                               return s;
                             }() +
                             R"(}> {
    y = Conv <strides = [2, 2], pads = [1, 1, 1, 1]> (x, w)
    z = Relu (y)
  })");
  const Inference inference = inferred(graph);
  EXPECT_EQ(type_of(graph, inference, "y"), "float[N, 4, 4, 4]");
  EXPECT_EQ(type_of(graph, inference, "z"), "float[N, 4, 4, 4]");
  EXPECT_TRUE(inference.opaque.empty());
}

TEST(Infer, FollowsSymbolicIntegersThroughAReshape) {
  const Graph graph = parsed(R"(<opset_import: ["" : 17]> g (float[batch, 3, 4] x) => (y)
    <int64 zero = {0}, int64[1] rest = {-1}, int64[1] axis = {0}> {
    shape = Shape (x)
    first = Gather <axis = 0> (shape, zero)
    front = Unsqueeze (first, axis)
    target = Concat <axis = 0> (front, rest)
    y = Reshape (x, target)
  })");
  const Inference inference = inferred(graph);
  EXPECT_EQ(integers_of(graph, inference, "shape"), "[batch, 3, 4]");
  EXPECT_EQ(integers_of(graph, inference, "first"), "[batch]");
  EXPECT_EQ(integers_of(graph, inference, "target"), "[batch, -1]");
  EXPECT_EQ(type_of(graph, inference, "y"), "float[batch, 12]");
}

TEST(Infer, GivesANewSymbolToADimWithoutAName) {
  const Graph graph =
      parsed(R"(<opset_import: ["" : 17]> g (float[?, 4] x, float[-1] z) => (y) { y = Relu (x) })");
  const Inference inference = inferred(graph);
  EXPECT_EQ(type_of(graph, inference, "y"), "float[?x.0, 4]");
  EXPECT_EQ(type_of(graph, inference, "z"), "float[?z.0]");
}

TEST(Infer, NeverTakesADeclaredNameForANewSymbol) {
  const Graph graph = parsed(R"(<opset_import: ["" : 17]> g (float[?] x, float["?x.0"] z) => () {})");
  const Inference inference = inferred(graph);
  EXPECT_NE(type_of(graph, inference, "x"), type_of(graph, inference, "z"));
}

TEST(Infer, TellsNewSymbolsOfValuesWithOneNameApart) {
  Graph graph = parsed(R"(<opset_import: ["" : 17]> g (float[2] x) => () { y = NonZero (x) })");
  Node again = graph.node(value_named(graph, "y").node);
  again.name = "other";
  const NodeId id = graph.add(again);
  const Inference inference = inferred(graph);
  EXPECT_FALSE(inference.of({id, 0}).shape->at(1) == inference.of(value_named(graph, "y")).shape->at(1));
}

TEST(Infer, BindsSymbolsAndShapes) {
  const Graph graph =
      parsed(R"(<opset_import: ["" : 17]> g (float[N, M] x, float[N] z) => (y) { y = Relu (x) })");
  EXPECT_EQ(type_of(graph, inferred(graph, {.symbols = {{"N", 2}}, .shapes = {}}), "y"), "float[2, M]");
  const Inference bound = inferred(graph, {.symbols = {}, .shapes = {{"x", {2, 3}}}});
  EXPECT_EQ(type_of(graph, bound, "y"), "float[2, 3]");
  EXPECT_EQ(type_of(graph, bound, "z"), "float[2]");
}

TEST(Infer, RefusesOptionsThatDoNotFitTheInputs) {
  constexpr std::string_view kModel = R"(<opset_import: ["" : 17]> g (float[N, 4] x, float[N] z) => () {})";
  const auto shapes = [&](std::map<std::string, Extents, std::less<>> given) {
    return error_of(kModel, {.symbols = {}, .shapes = std::move(given)});
  };
  EXPECT_EQ(shapes({{"x", {2, 4}}, {"z", {2}}}), "accepted");
  EXPECT_EQ(shapes({{"x", {2, 5}}}), "input x: expected shape float[N, 4], got float[2, 5]");
  EXPECT_EQ(shapes({{"x", {2}}}), "input x: expected shape float[N, 4], got float[2]");
  EXPECT_EQ(shapes({{"x", {2, 4}}, {"z", {3}}}),
            "input z: expected shape float[N], got float[3], where N is 2");
  EXPECT_EQ(shapes({{"q", {2}}}), "no input is named q");
  EXPECT_EQ(shapes({{"z", {-1}}}), "input z: expected shape float[N], got float[-1]: an extent is negative");
}

TEST(Infer, KnowsNoValueOfAnOverridableInitializer) {
  const Graph graph = parsed(R"(<opset_import: ["" : 17]> g (float[2, 6] x, int64[2] s = {3, 4}) => (y, z)
    <int64[2] t = {3, 4}> {
    y = Reshape (x, s)
    z = Reshape (x, t)
  })");
  const Inference inference = inferred(graph);
  EXPECT_EQ(integers_of(graph, inference, "s"), "?");
  EXPECT_EQ(type_of(graph, inference, "s"), "int64[2]");
  EXPECT_EQ(type_of(graph, inference, "z"), "float[3, 4]");
  EXPECT_NE(type_of(graph, inference, "y"), "float[3, 4]");
}

TEST(Infer, ReadsConstantNodesInAllTheirForms) {
  const Graph graph = parsed(R"(<opset_import: ["" : 17]> g () => () {
    a = Constant <value = int64[2] {3, 4}> ()
    b = Constant <value_int = 5> ()
    c = Constant <value_ints = [6, 7]> ()
    d = Constant <value_float = 0.5> ()
    e = Constant <value_floats = [0.5, 1.5]> ()
    f = Constant <value_string = "s"> ()
    g = Constant <value_strings = ["s"]> ()
    h = Constant <sparse_value: raw = "00"> ()
  })");
  const Inference inference = inferred(graph);
  EXPECT_EQ(integers_of(graph, inference, "a"), "[3, 4]");
  EXPECT_EQ(integers_of(graph, inference, "b"), "[5]");
  EXPECT_EQ(type_of(graph, inference, "b"), "int64[]");
  EXPECT_EQ(integers_of(graph, inference, "c"), "[6, 7]");
  EXPECT_EQ(type_of(graph, inference, "d"), "float[]");
  EXPECT_EQ(type_of(graph, inference, "e"), "float[2]");
  EXPECT_EQ(type_of(graph, inference, "f"), "string[]");
  EXPECT_EQ(type_of(graph, inference, "g"), "string[1]");
  EXPECT_EQ(inference.opaque.size(), 1u);
  EXPECT_EQ(inference.opaque.at(value_named(graph, "h").node), "sparse constant");
}

TEST(Infer, SaysWhyANodeIsOpaque) {
  Graph graph =
      parsed(R"(<opset_import: ["" : 17, "custom" : 1, "ai.onnx.ml" : 3]> g (float[2] x, bool c) => () {
    a = custom.Op (x)
    b = If <else_branch: raw_graph = "00", then_branch: raw_graph = "00"> (c)
    d = ai.onnx.ml.Scaler (x)
    e = NonZero (x)
    f = Relu (a)
    h = local.Function (x)
  })");
  graph.functions.write().emplace(FunctionName{"local", "Function"}, "");
  const Inference inference = inferred(graph);
  const auto why = [&](std::string_view name) { return inference.opaque.at(value_named(graph, name).node); };
  EXPECT_EQ(why("a"), "custom domain custom");
  EXPECT_EQ(why("b"), "control flow");
  EXPECT_EQ(why("d"), "no formula yet for ai.onnx.ml.Scaler");
  EXPECT_EQ(why("e"), "no formula yet for NonZero");
  EXPECT_EQ(why("f"), "the type of a is not known");
  EXPECT_EQ(why("h"), "local function");
  EXPECT_EQ(type_of(graph, inference, "f"), "?");
}

TEST(Infer, BelievesTheElementTypeThatTheFileDeclaresOfOpaqueNodesAndNoExtent) {
  const Graph graph = parsed(
      R"(<opset_import: ["" : 17, "custom" : 1]> g (float[N] x) => (float[N] y, int64[1] s) <float[N] a> {
    a = custom.Op (x)
    b = Relu (a)
    y = Unique (x)
    s = Shape (y)
  })");
  const Inference inference = inferred(graph);
  for (const std::string_view opaque : {"a", "y"}) {
    const ValueInfo& info = inference.of(value_named(graph, opaque));
    EXPECT_EQ(info.type, ElementType::Float) << opaque;
    EXPECT_FALSE(info.shape && info.shape->at(0) == Dim::symbol("N")) << opaque;
  }
  EXPECT_EQ(inference.opaque.at(value_named(graph, "b").node), "the shape of a is not known");
  EXPECT_NE(integers_of(graph, inference, "s"), "[N]");
}

TEST(Infer, RefusesAnElementTypeThatIsNotSo) {
  const auto declaring = [](const std::string& node) {
    return error_of("<opset_import: [\"\" : 17]> g (float[2] x) => () <int32[2] u> { " + node + " }");
  };
  EXPECT_EQ(declaring("u = Relu (x)"), "Relu producing u: u is declared int32 but is float");
  EXPECT_EQ(declaring("u = NonZero (x)"), "NonZero producing u: u is declared int32 but is int64");
  EXPECT_EQ(declaring("u = Constant <value_int = 1> ()"),
            "Constant producing u: u is declared int32 but is int64");
}

TEST(Infer, KnowsTheShapesOfOperatorsWithoutAFormula) {
  const Graph graph = parsed(R"(<opset_import: ["" : 17, "com.microsoft" : 1]>
    g (uint8[N, 3, 8, 8] x, int8[4, 3, 3, 3] w, float s, uint8 zx, int8 zw, float[M, 5] r) => () {
    a = QLinearConv <strides = [2, 2], pads = [1, 1, 1, 1]> (x, s, zx, w, s, zw, s, zx)
    b = com.microsoft.QLinearAdd (a, s, zx, a, s, zx, s, zx)
    c = com.microsoft.QLinearGlobalAveragePool (b, s, zx, s, zx)
    d = com.microsoft.QLinearConcat <axis = 1> (s, zx, b, s, zx, a, s, zx)
    e, f, h, i = Unique (r)
    j, k = Unique <axis = -1> (r)
    l = RandomNormal <shape = [2, 3]> ()
  })");
  const Inference inference = inferred(graph);
  const auto type = [&](std::string_view name) { return type_of(graph, inference, name); };
  EXPECT_EQ(type("a"), "uint8[N, 4, 4, 4]");
  EXPECT_EQ(type("b"), "uint8[N, 4, 4, 4]");
  EXPECT_EQ(type("c"), "uint8[N, 4, 1, 1]");
  EXPECT_EQ(type("d"), "uint8[N, 8, 4, 4]");
  EXPECT_EQ(type("e"), "float[?e.0]");
  EXPECT_EQ(type("f"), "int64[?e.0]");
  EXPECT_EQ(type("h"), "int64[5*M]");
  EXPECT_EQ(type("i"), "int64[?e.0]");
  EXPECT_EQ(type("j"), "float[M, ?j.1]");
  EXPECT_EQ(type("k"), "int64[?j.1]");
  EXPECT_EQ(type("l"), "float[2, 3]");
}

TEST(Infer, MakesNoSymbolOfANameThatIsTaken) {
  const Graph graph =
      parsed(R"(<opset_import: ["" : 17]> g (float[2] x, float[?] z) => () { y = NonZero (x) })");
  InferOptions options;
  EXPECT_EQ(inferred(graph).made, std::vector<std::string>{"?y.1"});
  options.taken = {"?y.1", "?y.1'"};
  const Inference inference = inferred(graph, options);
  EXPECT_EQ(inference.made, std::vector<std::string>{"?y.1'2"});
  EXPECT_EQ(type_of(graph, inference, "z"), "float[?z.0]");
}

TEST(Infer, NamesTheNodeThatNoLegalModelHas) {
  const auto result = infer(parsed(
      R"(<opset_import: ["" : 17]> g (float[1, 4, 8] x) => (y) <float[2, 3, 1] w = {1, 2, 3, 4, 5, 6}> {
    [first] t = Relu (x)
    [second] y = Conv <group = 0> (t, w)
  })"));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().node, "second");
  EXPECT_EQ(result.error().attribute, "group");
  EXPECT_EQ(result.error().message.substr(0, 8), "second: ");
}

TEST(Infer, RefusesAConstantWithoutExactlyOneValue) {
  EXPECT_EQ(error_of(R"(<opset_import: ["" : 17]> g () => () { y = Constant () })"),
            "Constant producing y: Constant needs exactly one value, here are 0");
  EXPECT_EQ(error_of(R"(<opset_import: ["" : 17]> g () => () { y = Constant <value = 1> () })"),
            "Constant producing y: Constant has no such value");
}

TEST(Infer, KnowsNothingOfSequences) {
  const Graph graph = parsed(R"(<opset_import: ["" : 17]> g (seq(float[2]) x) => () { y = Relu (x) })");
  const Inference inference = inferred(graph);
  EXPECT_EQ(type_of(graph, inference, "x"), "?");
  EXPECT_EQ(inference.opaque.size(), 1u);
}

TEST(Infer, LetsIntegersWrapInTheirOwnType) {
  const Graph graph = parsed(R"(<opset_import: ["" : 18]> g (float[1] x) => (x)
    <uint8[1] u = {200}, uint8[1] v = {100}, int32[1] most = {2147483647}, int32[1] one = {1},
     int32[1] half = {65536}, uint32[1] three = {3}, uint32[1] five = {5}, int64[1] big = {9223372036854775807},
     int64[1] two = {2}, uint64[1] top = {18446744073709551615}, uint64[1] small = {7}> {
    sum = Add (u, v)
    least = Add (most, one)
    halved = Div (least, one)
    square = Mul (half, half)
    wide = Cast <to = 7> (square)
    below = Sub (three, five)
    is_less = Less (below, three)
    signed = Cast <to = 3> (u)
    wrapped = Mul (big, two)
    is_small = Less (top, small)
  })");
  const Inference inference = inferred(graph);
  EXPECT_EQ(integers_of(graph, inference, "sum"), "[44]");
  EXPECT_EQ(integers_of(graph, inference, "least"), "[-2147483648]");
  EXPECT_EQ(integers_of(graph, inference, "halved"), "[-2147483648]");
  EXPECT_EQ(integers_of(graph, inference, "square"), "[0]");
  EXPECT_EQ(integers_of(graph, inference, "wide"), "[0]");
  EXPECT_EQ(integers_of(graph, inference, "below"), "[4294967294]");
  EXPECT_EQ(integers_of(graph, inference, "is_less"), "[0]");
  EXPECT_EQ(integers_of(graph, inference, "signed"), "[-56]");
  EXPECT_EQ(integers_of(graph, inference, "wrapped"), "[-2]");
  EXPECT_EQ(integers_of(graph, inference, "is_small"), "[0]");
}

TEST(Infer, DoesNotTakeExtentsToFitANarrowType) {
  const Graph graph = parsed(R"(<opset_import: ["" : 18]> g (float[n] x) => (x)
    <int64[1] one = {1}> {
    s = Shape (x)
    cut = Cast <to = 6> (s)
    same = Cast <to = 13> (s)
    less = Sub (s, one)
    wrapped = Cast <to = 13> (less)
  })");
  const Inference inference = inferred(graph);
  EXPECT_EQ(integers_of(graph, inference, "cut"), "?");
  EXPECT_EQ(integers_of(graph, inference, "same"), "[n]");
  EXPECT_EQ(integers_of(graph, inference, "less"), "[n - 1]");
  EXPECT_EQ(integers_of(graph, inference, "wrapped"), "?");  // of nothing it is 2^64 - 1
}

TEST(Infer, KnowsNoProductsOfExtentsThatMayHaveWrapped) {
  const Graph graph = parsed(R"(<opset_import: ["" : 18]> g (float[n] x, float[a, b, c, d] z) => (x)
    <int64[1] big = {4611686018427387904}, int64[1] zero = {0}, int64[1] two = {2}> {
    s = Shape (x)
    t = Mul (s, big)
    is_negative = Less (t, zero)
    half = Div (t, two)
    square = Mul (s, s)
    fourth = Mul (square, square)
    most = Max (fourth, zero)
    size = Size (z)
    some = Max (size, zero)
  })");
  const Inference inference = inferred(graph);
  EXPECT_EQ(integers_of(graph, inference, "t"), "?");
  EXPECT_EQ(integers_of(graph, inference, "is_negative"), "?");  // of two it is so
  EXPECT_EQ(integers_of(graph, inference, "half"), "?");
  EXPECT_EQ(integers_of(graph, inference, "fourth"), "?");
  EXPECT_EQ(integers_of(graph, inference, "most"), "?");  // of 55109 it is 0
  EXPECT_EQ(integers_of(graph, inference, "some"), integers_of(graph, inference, "size"));  // a tensor's
}

TEST(Infer, StopsFollowingIntegersThatGrowWithoutBound) {
  std::string model = R"(<opset_import: ["" : 17]> g (float[N] x) => () { v0 = Shape (x) )";
  for (int i = 1; i < 60; ++i)
    model +=
        "v" + std::to_string(i) + " = Mul (v" + std::to_string(i - 1) + ", v" + std::to_string(i - 1) + ") ";
  const Graph graph = parsed(model + "}");
  const Inference inference = inferred(graph);
  EXPECT_EQ(type_of(graph, inference, "v59"), "int64[1]");
  EXPECT_EQ(integers_of(graph, inference, "v59"), "?");
}

TEST(Infer, InfersAChainOf200000Nodes) {
  const Graph graph = testing::relu_chain(200'000);
  const Inference inference = inferred(graph);
  EXPECT_EQ(type_of(graph, inference, "v199999"), "float[N, 4]");
}

TEST(Infer, LargerTensorsThatAreMadeOfSmallOnesAreComputedIfAskedFor) {
  const Graph graph = parsed(R"(<opset_import: ["" : 17]> g (float[1] x) => (y) {
    n = Constant<value_ints = [50, 50]>()
    half = ConstantOfShape<value = float[1] {0.5}>(n)
    twice = Add(half, half)
    wave = Sin(half)
    third = Add(twice, wave)
    y = Mul(twice, x)
  })");
  const auto known = [&](std::int64_t most, std::string_view name) {
    const Inference inference = inferred(graph, {.symbols = {}, .shapes = {}, .most_made = most});
    return inference.of(value_named(graph, name)).constant.has_value();
  };
  EXPECT_FALSE(known(0, "half"));
  EXPECT_FALSE(known(2499, "half"));
  EXPECT_TRUE(known(2500, "half"));
  EXPECT_TRUE(known(2500, "twice"));
  // Rounded, and what is made of it; and what depends on an input.
  EXPECT_FALSE(known(2500, "wave"));
  EXPECT_FALSE(known(2500, "third"));
  EXPECT_FALSE(known(2500, "y"));
}

}  // namespace
}  // namespace isomer
