#include "optimizer/propose/float32_view.h"

#include <set>

#include "kernel/prove/widen.h"
#include "model/eval/program.h"
#include "model/graph/rebuild.h"
#include "optimizer/propose/list.h"
#include "optimizer/propose/testing.h"

namespace isomer {
namespace {

using testing::operators;
using testing::program;

// The same program with its floats in another width.
Graph in_width(const Graph& graph, ElementType type) {
  Graph out = with_changed_nodes(graph, [&](Node& node) {
    if (node.kind == NodeKind::Initializer && node.tensor.type() == ElementType::Float)
      node.tensor = convert(node.tensor, type);
    if (node.declared.type == ElementType::Float) node.declared.type = type;
  });
  for (auto [name, declared] : graph.declared()) {
    if (declared.type == ElementType::Float) declared.type = type;
    out.declare(name, declared);
  }
  if (type == ElementType::BFloat16) out.opsets[""] = 22;  // the first whose Conv takes it
  return out;
}

const std::string kBranches =
    "agraph (float[1,4,9,9] x) => (float[1,4,9,9] y) <" + testing::weight("w", "4,4,3,3", 144, 1) + ", " +
    testing::weight("v", "4,4,1,1", 16, 2) + "> {\n" +
    "a = Conv<pads=[1,1,1,1]>(x, w)\nb = Conv(x, v)\nc = Add(a, b)\nd = Add(c, x)\ny = Relu(d)}";

Proposals only(const std::string& name, const Graph& graph, const Inference& inference) {
  ProposeOptions options{.any_price = true};
  for (const Proposer* p : proposers())
    if (p->name != name) options.without.emplace(p->name);
  return propose_all(graph, inference, options);
}

// The operators after this proposer's first proposal, proved and folded; or why it is not.
std::string after(const std::string& proposer, const Graph& graph) {
  const auto inference = infer(graph);
  if (!inference.ok()) return inference.error().message;
  const auto found = only(proposer, graph, *inference).list;
  if (found.empty()) return "no proposal";
  const auto proved = prove_claim(graph, found[0].claim);
  if (const auto* why = std::get_if<std::string>(&proved)) return *why;
  const auto folded = fold_constants(std::get<Graph>(proved), found[0].folds);
  return folded.ok() ? operators(*folded) : folded.error().message;
}

TEST(Float32View, IsThereOnlyForHalves) {
  const Graph plain = program(kBranches);
  EXPECT_FALSE(Float32View::of(plain, *infer(plain)).has_value());
  const Graph halves = in_width(program(kBranches), ElementType::Float16);
  const auto view = Float32View::of(halves, *infer(halves));
  ASSERT_TRUE(view.has_value());
  for (const NodeId id : view->graph().order())
    EXPECT_EQ(view->inference().of({id, 0}).type, ElementType::Float) << view->graph().node(id).outputs[0];
}

TEST(Float32View, BranchesAreOneConvolutionInAnyWidth) {
  for (const ElementType type : {ElementType::Float, ElementType::Float16, ElementType::BFloat16})
    EXPECT_EQ(after("collapse", in_width(program(kBranches), type)), "Conv Relu") << name(type);
}

// Numbers that a proposer writes have the width of the others; sizes of a Resize are float32 in any model.
TEST(Float32View, GivesNewNumbersTheModelsWidth) {
  const Graph graph = in_width(program(kBranches), ElementType::Float16);
  const auto view = Float32View::of(graph, *infer(graph));
  ASSERT_TRUE(view.has_value());
  const std::string text =
      "agraph (float[1,4,9,9] x) => (float[1,4,18,18] z) <float[4] s = {1, 1, 2, 2}, float[1] k = {0.5}, "
      "int64[1] n = {4}> {\n"
      "r = Resize<mode=\"nearest\">(x, , s)\nm = ConstantOfShape(n)\nt = Mul(r, k)\nz = Add(t, m)}";
  const Proposal given{.kind = "test",
                       .what = {},
                       .claim = {.inputs = {"x"}, .outputs = {"y"}, .after = program(text)},
                       .folds = {}};
  const Graph made = view->translate(given).claim.after;
  const auto type_of = [&](const std::string& name) {
    return made.node(testing::value_named(made, name).node).tensor.type();
  };
  EXPECT_EQ(type_of("s"), ElementType::Float);
  EXPECT_EQ(type_of("k"), ElementType::Float16);
  EXPECT_EQ(type_of("n"), ElementType::Int64);
  const Node& zeros = made.node(testing::value_named(made, "m").node);
  ASSERT_NE(zeros.attributes.find_as<Tensor>("value"), nullptr);
  EXPECT_EQ(zeros.attributes.find_as<Tensor>("value")->type(), ElementType::Float16);
}

// What reads no 16-bit floats is left as it is.
TEST(Float32View, LeavesOtherWidthsAlone) {
  Graph graph =
      program("agraph (float[3] x, float16[3] h) => (float[3] y, float16[3] z) {\ny = Exp(x)\nz = Exp(h)}");
  const auto view = Float32View::of(graph, *infer(graph));
  ASSERT_TRUE(view.has_value());
  const auto type_of = [&](const std::string& in, const std::string& out) {
    const Proposal given{
        .kind = "test",
        .what = {},
        .claim = {.inputs = {in},
                  .outputs = {out},
                  .after = program("agraph (float[3] " + in +
                                   ") => (float[3] t) <float[1] k = {2}> {\nt = Mul(" + in + ", k)}")},
        .folds = {}};
    const Graph made = view->translate(given).claim.after;
    return made.node(testing::value_named(made, "k").node).tensor.type();
  };
  EXPECT_EQ(type_of("x", "y"), ElementType::Float);
  EXPECT_EQ(type_of("h", "z"), ElementType::Float16);
}

Graph widened(const Graph& graph) {
  std::vector<std::string> values;
  for (const NodeId id : widenable(graph, *infer(graph))) values.push_back(graph.node(id).outputs[0]);
  auto wide = widen(graph, values);
  if (!wide.ok()) throw std::runtime_error(wide.error().message);
  return *wide;
}

// Weights that are stored in 16 bits and cast are constants to proposers; what is folded of them is float32.
TEST(Float32View, LooksThroughCastsOfWeights) {
  const Graph graph = widened(in_width(program(kBranches), ElementType::Float16));
  EXPECT_EQ(operators(graph), "Cast Cast Conv Cast Conv Add Add Relu Cast");
  EXPECT_EQ(after("collapse", graph), "Cast Conv Relu Cast");
  // No program names a value twice.
  const auto inference = infer(graph);
  for (const Proposal& p : propose_all(graph, *inference, {.any_price = true}).list) {
    std::set<std::string> here;
    for (const NodeId id : p.claim.after.order())
      for (const std::string& name : p.claim.after.node(id).outputs)
        EXPECT_TRUE(here.insert(name).second) << name;
  }
}

TEST(Simplify, KeepsWeightsThatAreStoredIn16Bits) {
  const auto folded = [](int columns) {
    const Graph graph =
        widened(in_width(program("agraph (float[2,64] x) => (float[2,A] y) <" +
                                 testing::weight("w", "64," + std::to_string(columns), 64 * columns, 1) +
                                 "> {\ny = MatMul(x, w)}"),
                         ElementType::Float16));
    const auto found = kSimplify(graph, *infer(graph)).list;
    return found.empty() ? std::vector<std::string>{} : found[0].folds;
  };
  EXPECT_EQ(folded(100), std::vector<std::string>{});
  EXPECT_EQ(folded(2), std::vector<std::string>{"w_wide"});
}

TEST(ProposeWiden, IsAskedFirst) {
  const Graph graph = in_width(program(kBranches), ElementType::Float16);
  const auto inference = infer(graph);
  ASSERT_TRUE(inference.ok());
  for (const Proposal& p : propose_all(graph, *inference, {.any_price = true, .relaxed = true}).list)
    EXPECT_NE(p.kind, "widen");
  const auto first = propose_first(graph, *inference).list;
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].widens, (std::vector<std::string>{"a", "b", "c", "d", "y"}));
  EXPECT_TRUE(first[0].rounds_otherwise);
  EXPECT_TRUE(propose_first(graph, *inference, {.without = {"widen"}}).list.empty());
  const Graph plain = program(kBranches);
  EXPECT_TRUE(propose_first(plain, *infer(plain)).list.empty());
}

}  // namespace
}  // namespace isomer
