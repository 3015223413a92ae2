#include "compiler/cover/cut_model.h"

#include <gtest/gtest.h>

#include "compiler/cover/region_program.h"
#include "model/graph/interpret.h"
#include "model/graph/testing.h"
#include "runtime/engines/ort_operator.h"

namespace isomer {
namespace {

using testing::parsed;
using testing::value_named;

Model model_of(std::string_view body, std::string_view interface = "float[4,4] x) => (float[4,4] y") {
  Model model;
  model.graph = parsed(R"(<opset_import: ["" : 18, "other" : 1]> m ()" + std::string(interface) + ") {" +
                       std::string(body) + "}");
  model.ir_version = 8;
  return model;
}

CutModel cut_of(const Model& model, const CutOptions& options = {.least_operations = 0}) {
  auto cut = cut_model(model, {}, options);
  if (!cut.ok()) throw std::runtime_error(cut.error().message);
  return std::move(*cut);
}

std::vector<NodeId> makers(const CutModel& cut, const std::vector<std::string>& values) {
  std::vector<NodeId> out;
  for (const std::string& v : values) out.push_back(value_named(cut.model.graph, v).node);
  return out;
}

// One product after another, with an unknown node between them.
constexpr char kOpaque[] = "a = MatMul(x, x) b = other.Odd(a) c = Relu(b) d = MatMul(x, a) y = Add(c, d)";

TEST(CutModel, LeavesOutWhatHasNoFormula) {
  const CutModel cut = cut_of(model_of(kOpaque));
  EXPECT_EQ(cut.closed, 3u);  // b, and what reads it: its size is not known
  std::set<NodeId> open;
  for (const Segment& segment : cut.segments) open.insert(segment.nodes.begin(), segment.nodes.end());
  EXPECT_EQ(open.size(), 2u);
  for (const NodeId id : makers(cut, {"a", "d"})) EXPECT_TRUE(open.contains(id));
}

TEST(CutModel, LeavesWhatComputesLittleToTheRuntime) {
  EXPECT_TRUE(cut_of(model_of(kOpaque), {}).segments.empty());
  // Where nothing stays with the runtime, the whole model is one operator, however small.
  EXPECT_EQ(cut_of(model_of("y = Relu(x)"), {}).segments.size(), 1u);
}

TEST(CutModel, PutsClosedNodesBehindAllThatDoNotNeedThem) {
  const CutModel cut = cut_of(model_of("u, i, j, k = Unique(x) a = MatMul(x, x) b = MatMul(a, x) y = Relu(b)",
                                       "float[4,4] x) => (float[4,4] y, float[n] u"));
  EXPECT_EQ(cut.closed, 1u);
  ASSERT_FALSE(cut.segments.empty());
  for (const Segment& segment : cut.segments) EXPECT_EQ(segment.layer, 0u);
}

TEST(CutModel, IsCutWhereFewTensorsCross) {
  // Two blocks of three products each, with a way around them.
  const CutModel cut = cut_of(model_of(
      "a = MatMul(x, x) b = MatMul(a, a) c = Add(b, x) d = MatMul(c, c) e = MatMul(d, d) y = Add(e, c)"));
  ASSERT_EQ(cut.segments.size(), 2u);
  EXPECT_EQ(cut.segments[1].nodes.front(), value_named(cut.model.graph, "d").node);
  EXPECT_EQ(cut.segments[1].entering_bytes, 4 * 4 * 4);
}

TEST(CutModel, IsCutAtTheEndsOfABlockThatIsWideInside) {
  // Narrow, wide, narrow, wide, narrow: no way around it.
  Model model;
  model.graph = parsed(R"(<opset_import: ["" : 18]> m (float[8,4] x) => (float[8,4] y) <)" +
                       testing::weight("w", "4,16", 64, 1) + ", " + testing::weight("v", "16,4", 64, 2) +
                       "> {a = MatMul(x, w) b = MatMul(a, v) c = MatMul(b, w) y = MatMul(c, v)}");
  const CutModel cut = cut_of(model);
  ASSERT_EQ(cut.segments.size(), 2u);
  EXPECT_EQ(cut.segments[1].nodes.front(), value_named(cut.model.graph, "c").node);
}

TEST(CutModel, MakesConstantsOfWhatSizesSay) {
  const CutModel cut = cut_of(model_of("s = Shape(x) r = Relu(x) y = Reshape(r, s)"));
  EXPECT_EQ(cut.model.graph.node(value_named(cut.model.graph, "s").node).kind, NodeKind::Initializer);
}

TEST(RegionProgram, IsRefusedWhereAWayLeavesAndComesBack) {
  const CutModel cut = cut_of(model_of("a = Relu(x) b = Exp(a) c = Tanh(a) y = Add(b, c)"));
  EXPECT_TRUE(region_program(cut, makers(cut, {"b", "c", "y"})).ok());
  const auto around = region_program(cut, makers(cut, {"a", "b", "y"}));
  ASSERT_FALSE(around.ok());
  EXPECT_NE(around.error().message.find("not a region"), std::string::npos);
}

TEST(RegionProgram, HasWhatOthersReadAsItsOutputs) {
  const CutModel cut = cut_of(model_of("a = Relu(x) b = Exp(a) c = Tanh(a) y = Add(b, c)"));
  const auto region = region_program(cut, makers(cut, {"a", "b"}));
  ASSERT_TRUE(region.ok());
  EXPECT_EQ(region->inputs, std::vector{value_named(cut.model.graph, "x")});
  EXPECT_EQ(region->outputs,
            (std::vector{value_named(cut.model.graph, "a"), value_named(cut.model.graph, "b")}));
}

TEST(RegionProgram, ComputesItsPartOfTheModel) {
  const CutModel cut = cut_of(model_of("a = Relu(x) b = Exp(a) c = Tanh(a) y = Add(b, c)"));
  const auto first = region_program(cut, makers(cut, {"a"})),
             second = region_program(cut, makers(cut, {"b", "c", "y"}));
  ASSERT_TRUE(first.ok() && second.ok());
  const NamedTensors feeds{
      {"x", Tensor::of(ElementType::Float, {4, 4},
                       std::vector<float>{-3, 1, 2, -1, 0, 4, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3})}};
  const auto whole = interpret(cut.model.graph, feeds);
  const auto half = interpret(first->graph, feeds);
  ASSERT_TRUE(whole.ok() && half.ok());
  const auto rest = interpret(second->graph, half->outputs);
  ASSERT_TRUE(rest.ok());
  EXPECT_TRUE(rest->outputs.at("y").same_bits(whole->outputs.at("y")));
}

TEST(StructureOf, SeesWhatRunsAndNoNamesOrWeights) {
  const auto of = [](const char* body, const char* before = "") {
    return structure_of(parsed(std::string(R"(<opset_import: ["" : 18]> m (float[2,2] )") + before +
                               "x) => (" + before + "y) " + body));
  };
  const Digest one = of("<float[2,2] w = {1, 2, 3, 4}> {y = MatMul(x, w)}");
  EXPECT_EQ(one, of("<float[2,2] w = {5, 6, 7, 8}> {y = MatMul(x, w)}"));
  EXPECT_EQ(one, of("<float[2,2] ww = {5, 6, 7, 8}> {my = MatMul(mx, ww)}", "m"));
  EXPECT_NE(one, of("<float[2,2] w = {1, 2, 3, 4}> {y = MatMul(w, x)}"));
  EXPECT_NE(one, of("<float[2,2] w = {1, 2, 3, 4}> {y = Add(x, w)}"));
}

TEST(WithOperators, PutsANodeInThePlaceOfEachRegion) {
  const CutModel cut = cut_of(model_of("a = Relu(x) b = Exp(a) c = Tanh(a) y = Add(b, c)"));
  const auto first = region_program(cut, makers(cut, {"a", "b"})),
             second = region_program(cut, makers(cut, {"y"}));
  ASSERT_TRUE(first.ok() && second.ok());
  const auto model = with_operators(cut, {{&*first, "net_0", 0}, {&*second, "net_0", 1}});
  ASSERT_TRUE(model.ok()) << model.error().message;
  const Graph& graph = model->graph;
  EXPECT_EQ(graph.operator_count(), 3u);
  const Node& node = graph.node(value_named(graph, "y").node);
  EXPECT_EQ(node.domain, kOrtOperatorDomain);
  EXPECT_EQ(node.op, "net_0");
  EXPECT_EQ(*node.attributes.find_as<std::int64_t>("weights"), 1);
  ASSERT_EQ(node.inputs.size(), 2u);
  EXPECT_EQ(graph.name_of(node.inputs[0]), "b");
  EXPECT_EQ(graph.name_of(node.inputs[1]), "c");
  EXPECT_TRUE(graph.declared().contains("b"));
}

TEST(WithOperators, RefusesRegionsThatWaitForEachOther) {
  // Each is convex, but the first reads of the second and the second of the first.
  const CutModel cut = cut_of(model_of("a = Relu(x) b = Exp(a) c = Tanh(x) d = Neg(c) y = Add(b, d)"));
  const auto one = region_program(cut, makers(cut, {"a", "d"})),
             other = region_program(cut, makers(cut, {"b", "c"}));
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_FALSE(with_operators(cut, {{&*one, "net_0", 0}, {&*other, "net_1", 1}}).ok());
  EXPECT_FALSE(with_operators(cut, {{&*one, "net_0", 0}, {&*one, "net_0", 1}}).ok());
}

}  // namespace
}  // namespace isomer
