#include "optimizer/propose/by_rule/generated.h"

#include <gtest/gtest.h>

#include "optimizer/propose/testing.h"

namespace isomer {
namespace {

using testing::operators;
using testing::program;
using testing::weight;

// The results of all proposals that are proved, as operators in order.
std::set<std::string> found(const Graph& graph, bool any_price = false) {
  std::set<std::string> out;
  for (std::size_t k = 0; k < 64; ++k) {
    std::string why;
    const auto taken = testing::taken(kGenerated, graph, &why, any_price, k);
    if (taken) out.insert(operators(*taken));
    else if (why.empty()) break;
  }
  return out;
}

TEST(Generated, MergesProductsOfOneValueHoweverMany) {
  const Graph graph = program(
      "agraph (float[1, 5, 4] x) => (float[1, 5, 3] p, float[1, 5, 2] q, float[1, 5, 6] r) <" +
      weight("a", "4, 3", 12, 1) + ", " + weight("b", "4, 2", 8, 2) + ", " + weight("c", "4, 6", 24, 3) +
      "> {\n p = MatMul (x, a)\n q = MatMul (x, b)\n r = MatMul (x, c)\n}");
  EXPECT_TRUE(found(graph, true).contains("MatMul Split"));
}

TEST(Generated, AddsTheKernelsOfConvolutionsWithTheirBiases) {
  const Graph graph = program(
      "agraph (float[N, 4, 6, 6] x) => (float[N, 2, 6, 6] y) <" + weight("w", "2, 4, 3, 3", 72, 1) + ", " +
      weight("v", "2, 4, 3, 3", 72, 2) + ", " + weight("b", "2", 2, 1) + ", " + weight("c", "2", 2, 3) +
      "> {\n s = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, w, b)\n"
      " t = Conv <pads = [1, 1, 1, 1], dilations = [1, 1]> (x, v, c)\n y = Add (t, s)\n}");
  EXPECT_TRUE(found(graph).contains("Conv"));
}

TEST(Generated, UsesARuleAtAttributesItWasNotProvedAt) {
  // The rule was found with pads of 1 and stride 1 or 2; this is a kernel of 5 with pads of 2, dilated.
  const Graph graph =
      program("agraph (float[1, 4, 9, 9] x) => (float[1, 2, 5, 5] y) <" + weight("w", "2, 4, 5, 5", 200, 1) +
              ", " + weight("v", "2, 4, 5, 5", 200, 2) +
              "> {\n s = Conv <pads = [2, 2, 2, 2], dilations = [2, 2]> (x, w)\n"
              " t = Conv <pads = [2, 2, 2, 2], dilations = [2, 2]> (x, v)\n y = Add (t, s)\n}");
  EXPECT_TRUE(found(graph).contains("Conv"));
}

TEST(Generated, AddsTheKernelsOfConvolutionsOfWhichOneHasABias) {
  const Graph graph =
      program("agraph (float[1, 2, 5, 5] x) => (float[1, 3, 3, 3] y) <" + weight("a", "3, 2, 3, 3", 54, 1) +
              ", " + weight("b", "3, 2, 3, 3", 54, 2) + ", " + weight("c", "3", 3, 3) +
              "> {\n p = Conv (x, a)\n q = Conv (x, b, c)\n y = Add (p, q)\n}");
  EXPECT_TRUE(found(graph).contains("Conv"));
}

TEST(Generated, ChangesAttributesAsTheRuleDoes) {
  // The rule puts a border of zeros around a kernel of 1x1, without pads and groups; here it is of 3x3.
  const Graph graph =
      program("agraph (float[1, 4, 6, 6] x) => (float[1, 4, 6, 6] y) <" + weight("w", "4, 1, 3, 3", 36, 1) +
              "> {\n y = Conv <pads = [1, 1, 1, 1], group = 4> (x, w)\n}");
  const auto inference = infer(graph);
  ASSERT_TRUE(inference.ok());
  bool is_found = false;
  for (const Proposal& p : kGenerated(graph, *inference, {.relaxed = true}).list) {
    const Graph& after = p.claim.after;
    for (const NodeId id : after.order()) {
      const auto* pads = after.node(id).attributes.find_as<Extents>("pads");
      if (after.node(id).op != "Conv" || pads == nullptr || *pads != Extents{2, 2, 2, 2}) continue;
      is_found |= std::holds_alternative<Graph>(prove_claim(graph, p.claim));
    }
  }
  EXPECT_TRUE(is_found);
}

TEST(Generated, ProposesNoLossUnlessAsked) {
  const Graph graph =
      program("agraph (float[2, 3] x, float[3, 4] a) => (float[2, 4] y) {\n y = MatMul (x, a)\n}");
  EXPECT_TRUE(found(graph).empty());
}

TEST(UserRules, AreProposedByTheSamePath) {
  const rules::RuleBook book(
      "rule silu\ngiven float[M] x\nleft { s = Sigmoid(x)\n t = Mul(x, s)\n y = Neg(t) } => y\n"
      "right { s = Sigmoid(x)\n t = Neg(x)\n y = Mul(s, t) } => y\n"
      "rule false\ngiven float[M] x\nleft { s = Sigmoid(x)\n y = Mul(x, s) } => y\nright { y = Relu(x) } => "
      "y\n");
  const Graph graph =
      program("agraph (float[7] x) => (float[7] y) {\n s = Sigmoid (x)\n t = Mul (s, x)\n y = Neg (t)\n}");
  const auto inference = infer(graph);
  ASSERT_TRUE(inference.ok());
  const auto found = propose_by_rules(graph, *inference, {.any_price = true}, book, "user").list;
  int proved = 0, refused = 0;
  for (const Proposal& p : found) {
    EXPECT_EQ(p.kind, "user");
    if (std::holds_alternative<Graph>(prove_claim(graph, p.claim))) ++proved;
    else ++refused;
  }
  EXPECT_EQ(proved, 1);
  EXPECT_EQ(refused, 1);
}

}  // namespace
}  // namespace isomer
