#include "optimizer/search/saturate/chosen_program.h"

#include <gtest/gtest.h>

#include "base/integer_program.h"
#include "optimizer/propose/testing.h"

namespace isomer {
namespace {

using testing::operators;
using testing::program;
using testing::weight;

// What the cheapest program of two graphs, whose outputs are said to be equal, changes in the first of them.
std::vector<Proposal> changes(const Draft& from, const Draft& to, Claims claims = Claims::OfPieces) {
  ProgramClasses classes(from.graph);
  const Placed a = classes.add(from, unknown_machine()), b = classes.add(to, unknown_machine());
  for (std::size_t k = 0; k < a.outputs.size(); ++k) classes.unite(a.outputs[k], b.outputs[k]);
  classes.rebuild();
  const std::vector<EGraph::Class> roots = classes.current(a).outputs;
  const auto wanted = has_integer_solver() ? extract_exact(classes.graph(), roots, {}, 60)
                                           : extract_greedy(classes.graph(), roots);
  EXPECT_TRUE(wanted);
  return proposals_for(classes, from.graph, classes.current(a), *wanted, unknown_machine(), claims);
}

// The first graph with these changes; "": one is not proved.
std::string operators_with(const Graph& graph, const std::vector<Proposal>& all) {
  auto piece = Workpiece::of(graph);
  ProofCache proofs;
  StepMaker maker(std::move(*piece), proofs, 1);
  std::vector<Step> steps;
  for (const Proposal& p : all) {
    auto step = maker.prove(p);
    if (std::holds_alternative<std::string>(step)) return "";
    steps.push_back(std::get<Step>(std::move(step)));
  }
  return operators(maker.with({.graph = graph}, pointers_to(steps)).graph);
}

TEST(ChosenProgram, IsProvedLikeAnythingElse) {
  const Graph graph = program("agraph (float[4] x) => (float[4] y) { t = Neg(x) y = Neg(t) }");
  const auto good = changes({.graph = graph},
                            {.graph = program("agraph (float[4] x) => (float[4] y) { y = Identity(x) }")});
  ASSERT_EQ(good.size(), 1u);
  EXPECT_EQ(operators_with(graph, good), "Identity");
  // That both are equal was only said.
  const auto wrong =
      changes({.graph = graph}, {.graph = program("agraph (float[4] x) => (float[4] y) { y = Exp(x) }")});
  ASSERT_EQ(wrong.size(), 1u);
  EXPECT_EQ(operators_with(graph, wrong), "");
}

// What is chosen is in the state already, as another value.
TEST(ChosenProgram, AValueMayBeAnotherOneOfTheState) {
  const Graph graph =
      program("agraph (float[4] x) => (float[4] y) { s = Exp(x) t = Neg(s) u = Neg(t) y = Tanh(u) }");
  const auto all = changes(
      {.graph = graph}, {.graph = program("agraph (float[4] x) => (float[4] y) { s = Exp(x) y = Tanh(s) }")});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(operators_with(graph, all), "Exp Tanh");
}

// In a piece, a is any value; in the whole, it is a Relu.
TEST(ChosenProgram, AllOfItMaySayWhatAPieceDoesNot) {
  const Draft from{.graph =
                       program("agraph (float[4] x) => (float[4] y) { a = Relu(x) b = Relu(a) y = Exp(b) }")},
      to{.graph = program("agraph (float[4] x) => (float[4] y) { a = Relu(x) y = Exp(a) }")};
  EXPECT_EQ(operators_with(from.graph, changes(from, to)), "");
  EXPECT_EQ(operators_with(from.graph, changes(from, to, Claims::OfAll)), "Relu Exp");
}

TEST(ChosenProgram, PiecesThatDoNotMeetAreClaimsOfTheirOwn) {
  const Graph graph = program(
      "agraph (float[4] x) => (float[4] y, float[4] z) { a = Neg(x) b = Neg(a) y = Sigmoid(b) c = Exp(x) d = "
      "Neg(c)"
      " e = Neg(d) z = Tanh(e) }");
  const auto all =
      changes({.graph = graph}, {.graph = program("agraph (float[4] x) => (float[4] y, float[4] z) {"
                                                  " y = Sigmoid(x) c = Exp(x) z = Tanh(c) }")});
  EXPECT_EQ(all.size(), 2u);
  EXPECT_EQ(operators_with(graph, all), "Exp Sigmoid Tanh");
}

TEST(ChosenProgram, AMergedNodeIsWrittenOnceForAllThatReadIt) {
  if (!has_integer_solver()) GTEST_SKIP() << "no HiGHS";  // greedily, it is paid three times
  const std::string head = "agraph (float[5,4] x) => (float[5,3] p, float[5,3] q, float[5,3] r) <" +
                           weight("a", "4,3", 12, 1) + ", " + weight("b", "4,3", 12, 2) + ", " +
                           weight("c", "4,3", 12, 3) + "> { ";
  const Graph graph = program(head + "p = MatMul(x, a) q = MatMul(x, b) r = MatMul(x, c) }");
  const auto all = changes({.graph = graph},
                           {.graph = program(head + "w = Concat<axis = 1>(a, b, c) m = MatMul(x, w)"
                                                    " p, q, r = Split<axis = 1, num_outputs = 3>(m) }")});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].claim.outputs.size(), 3u);
  EXPECT_EQ(operators_with(graph, all), "MatMul Split");
}

// A constant that an earlier step made is no number that fell from the sky: the proof sees how it was
// computed.
TEST(ChosenProgram, ConstantsAreWrittenAsTheyWereComputed) {
  const Graph graph =
      program("agraph (float[1,8,9,9] x) => (float[1,8,9,9] y) <" + weight("a", "8,8,3,3", 576, 1) + ", " +
              weight("b", "8,8,3,3", 576, 2) +
              "> { p = Conv<pads = [1,1,1,1]>(x, a) q = Conv<pads = [1,1,1,1]>(x, b) y = Add(p, q)}");
  const auto inference = infer(graph);
  auto piece = Workpiece::of(graph);
  ProofCache proofs;
  StepMaker maker(std::move(*piece), proofs, 1);
  Draft merged{.graph = graph};
  for (const Proposal& p : kGenerated(graph, *inference, {}).list) {
    auto step = maker.prove(p);
    ASSERT_TRUE(std::holds_alternative<Step>(step));
    merged = maker.with({.graph = graph}, {&std::get<Step>(step)});
    if (operators(merged.graph) == "Conv") break;
  }
  ASSERT_EQ(operators(merged.graph), "Conv");
  ASSERT_EQ(merged.folded.size(), 1u);
  const auto all = changes({.graph = graph}, merged);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].folds.size(), 1u);
  EXPECT_EQ(operators_with(graph, all), "Conv");
}

}  // namespace
}  // namespace isomer
