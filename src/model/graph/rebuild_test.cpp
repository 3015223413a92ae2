#include "model/graph/rebuild.h"

#include "model/graph/canonical_hash.h"
#include "model/graph/testing.h"

namespace isomer {
namespace {

using testing::parsed;
using testing::relu;
using testing::relu_chain;
using testing::value_named;

Graph replaced(const Graph& graph, std::initializer_list<std::pair<const char*, const char*>> names) {
  Replacements by;
  for (const auto& [from, to] : names) by[value_named(graph, from)] = value_named(graph, to);
  auto result = replace(graph, by);
  if (!result.ok()) throw std::runtime_error(result.error().message);
  return std::move(result).value();
}

std::string body(const Graph& graph) {
  const std::string all = text(graph);
  return all.substr(all.find("=>") + 3);
}

TEST(Replace, MakesEveryReaderReadTheReplacement) {
  const Graph graph = parsed(R"(<opset_import: ["" : 17]> g (float[2] x) => (z, w) {
    a = Relu (x)
    b = Abs (x)
    z = Add (a, a)
    w = Mul (a, b)
  })");
  EXPECT_EQ(body(replaced(graph, {{"a", "b"}})), R"((z, w) {
  b = Abs (x)
  z = Add (b, b)
  w = Mul (b, b)
}
)");
}

TEST(Replace, LeavesTheOldGraphAsItWas) {
  const Graph graph = relu_chain(3);
  const std::string before = text(graph);
  replaced(graph, {{"v1", "v0"}});
  EXPECT_EQ(text(graph), before);
}

TEST(Replace, PutsAReplacementThatStandsLaterBeforeItsReaders) {
  const Graph graph = parsed(R"(<opset_import: ["" : 17]> g (float[2] x) => (z) {
    a = Relu (x)
    z = Neg (a)
    b = Abs (x)
    c = Exp (b)
  })");
  EXPECT_EQ(body(replaced(graph, {{"a", "c"}})), R"((z) {
  b = Abs (x)
  c = Exp (b)
  z = Neg (c)
}
)");
}

TEST(Replace, GivesTheNameOfAnOutputToItsReplacement) {
  const Graph graph = parsed(R"(<opset_import: ["" : 17]> g (float[2] x) => (y) {
    y = Relu (x)
    t = Abs (x)
  })");
  EXPECT_EQ(body(replaced(graph, {{"y", "t"}})), "(y) {\n  y = Abs (x)\n}\n");
}

TEST(Replace, NamesAnOutputByAnIdentityWhereTheReplacementKeepsItsOwnName) {
  const Graph graph = parsed(R"(<opset_import: ["" : 17]> g (float[2] x) => (y, t, z) {
    y = Relu (x)
    t = Abs (x)
    z = Relu (x)
  })");
  EXPECT_EQ(body(replaced(graph, {{"y", "t"}, {"z", "x"}})), R"((y, t, z) {
  t = Abs (x)
  y = Identity (t)
  z = Identity (x)
}
)");
}

TEST(Replace, KeepsTheNamesThatSubgraphsCapture) {
  const Graph graph = parsed(R"(<opset_import: ["" : 17]> g (float[2] x, bool c) => (y) {
    a = Relu (x)
    b = Abs (x)
    y = If <else_branch: raw_graph = "00", then_branch: raw_graph = "00", captures: values = [a]> (c)
  })");
  EXPECT_EQ(body(replaced(graph, {{"a", "b"}})), R"((y) {
  a = Abs (x)
  y = If <else_branch: raw_graph = "00", then_branch: raw_graph = "00", captures: values = [a]> (c)
}
)");
}

TEST(Replace, RenamesTheReplacedOutputOfANodeThatIsStillRead) {
  const Graph graph = parsed(R"(<opset_import: ["" : 17]> g (float[2] x) => (p, q) {
    p, q = Split (x)
    t = Abs (x)
  })");
  EXPECT_EQ(body(replaced(graph, {{"p", "t"}})), R"((p, q) {
  p_replaced1, q = Split (x)
  p = Abs (x)
}
)");
}

TEST(Replace, FollowsReplacementsOfReplacements) {
  const Graph graph = parsed(R"(<opset_import: ["" : 17]> g (float[2] x) => (y) {
    a = Relu (x)
    b = Abs (x)
    c = Exp (x)
    y = Neg (a)
  })");
  EXPECT_EQ(body(replaced(graph, {{"a", "b"}, {"b", "c"}})), "(y) {\n  c = Exp (x)\n  y = Neg (c)\n}\n");
}

TEST(Replace, RefusesAReplacementThatDependsOnWhatItReplaces) {
  const Graph graph = relu_chain(4);
  const auto result = replace(graph, {{value_named(graph, "v0"), value_named(graph, "v2")}});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("depends on what it replaces"), std::string::npos);
}

TEST(Replace, RefusesReplacementsInACircle) {
  const Graph graph = relu_chain(4);
  const Value a = value_named(graph, "v0"), b = value_named(graph, "v1");
  EXPECT_FALSE(replace(graph, {{a, b}, {b, a}}).ok());
  EXPECT_FALSE(replace(graph, {{a, a}}).ok());
}

TEST(Replace, RefusesToTakeItsNameFromAnInputThatIsAnOutput) {
  const Graph graph = parsed(R"(<opset_import: ["" : 17]> g (float[2] x) => (x) { t = Abs (x) })");
  EXPECT_FALSE(replace(graph, {{value_named(graph, "x"), value_named(graph, "t")}}).ok());
}

TEST(Replace, KeepsOverridableInitializersAndTheOrderOfInputs) {
  const Graph graph = parsed(R"(<opset_import: ["" : 17]> g (float[1] v = {2}, float[1] x) => (y) {
    t = Relu (x)
    y = Add (t, v)
  })");
  const Graph after = replaced(graph, {{"t", "x"}});
  EXPECT_EQ(after.inputs(), graph.inputs());
  EXPECT_TRUE(after.is_overridable(value_named(after, "v").node));
}

TEST(Replace, RemakesAChainOf200000Nodes) {
  Graph graph = relu_chain(200'000);
  const Value t = {graph.add(relu(graph.inputs()[0], "t")), 0};
  auto after = replace(graph, {{value_named(graph, "v0"), t}});
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(after->operator_count(), 200'000u);
  EXPECT_EQ(canonical_hashes(*after).graph, canonical_hashes(relu_chain(200'000)).graph);
}

TEST(WithoutDeadNodes, DropsWhatNoOutputDependsOn) {
  const Graph graph = parsed(R"(<opset_import: ["" : 17]> g (float[2] x, float[2] unused) => (y)
    <float[1] w = {1}, float[1] v = {1}> {
    a = Add (x, v)
    b = Relu (a)
    r = RandomNormalLike (x)
    y = Add (x, w)
  })");
  EXPECT_EQ(body(without_dead_nodes(graph)), R"((y)
<
  float[1] w = {1}
>
{
  y = Add (x, w)
}
)");
  EXPECT_EQ(without_dead_nodes(graph).inputs().size(), 2u);
}

TEST(WithoutDeadNodes, KeepsWhatMayHaveAnEffectAndAllThatItReads) {
  const Graph graph = parsed(R"(<opset_import: ["" : 17, "custom" : 1]> g (float[2] x, bool t) => (y) {
    a = Relu (x)
    b = Neg (x)
    = custom.Print (a)
    c = If <else_branch: raw_graph = "00", then_branch: raw_graph = "00", captures: values = [b]> (t)
    y = Abs (x)
  })");
  EXPECT_EQ(without_dead_nodes(graph).operator_count(), 5u);
}

}  // namespace
}  // namespace isomer
