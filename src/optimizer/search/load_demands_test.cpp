#include "optimizer/search/load_demands.h"

#include <gtest/gtest.h>

#include <memory>

#include "optimizer/propose/testing.h"
#include "optimizer/search/steps.h"

namespace isomer {
namespace {

using testing::integers;
using testing::weight;

// x, cut to `n` elements, as the bias of a product with weights of 4 bits; what `between` makes of it is c.
Graph with_bias(const std::string& between) {
  return testing::parsed(
      "<ir_version: 8, opset_import: [\"\" : 18, \"com.microsoft\" : 1]>\n"
      "agraph (float[N] x, float[1,16] a) => (float[1,2] y, float[M] z)\n<" +
      weight("s", "2,1", 2, 1) + ", " + integers("from", {0}) + ", " + integers("to", {2}) + ", " +
      integers("two", {2}) +
      ", uint8[2,1,8] w = {1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8}>\n"
      "{ b = Slice(x, from, to) " +
      between +
      " y = com.microsoft.MatMulNBits<K = 16, N = 2, bits = 4, block_size = 16>(a, w, s, , , c) z = Neg(b) "
      "}");
}

constexpr char kSame[] = "agraph (float[K] p) => (float[K] q) { q = Identity(p) }";

Proposal instead_of(const std::string& output, const std::string& input, const std::string& after) {
  return {.kind = "test", .what = "", .claim = {{input}, {output}, testing::program(after)}, .folds = {}};
}

TEST(LoadDemands, WhatSaysASizeThatIsNeededStays) {
  const LoadDemands demands(with_bias("c = Reshape(b, two)"));
  EXPECT_TRUE(demands.objection(instead_of("c", "b", kSame)));
  // The sizes of a reshaped value do not matter.
  EXPECT_FALSE(demands.objection(instead_of("b", "x", kSame)));
  EXPECT_FALSE(demands.objection(instead_of("z", "b", kSame)));
}

TEST(LoadDemands, SoDoesAllThatASizeFollowsFrom) {
  const LoadDemands demands(with_bias("c = Relu(b)"));
  EXPECT_TRUE(demands.objection(instead_of("c", "b", kSame)));
  EXPECT_TRUE(demands.objection(instead_of("b", "x", kSame)));
  EXPECT_FALSE(demands.objection(instead_of("z", "b", kSame)));
}

TEST(LoadDemands, ANewOperatorThatNeedsASizeHasIt) {
  const LoadDemands demands(with_bias("c = Reshape(b, two)"));
  // The product once more, with another bias: `bias` is a value of the graph, or made of one.
  const auto objects = [&](const std::string& input, const std::string& made, const std::string& bias) {
    Proposal p{.kind = "test", .what = "", .claim = {{"a", input}, {"y"}, {}}, .folds = {}};
    p.claim.after = testing::parsed(
        "<ir_version: 8, opset_import: [\"\" : 18, \"com.microsoft\" : 1]>\n"
        "agraph (float[1,16] a, uint8[2,1,8] w, float[2,1] s, float[L] " +
        input + ") => (float[1,2] q) { " + made +
        " q = com.microsoft.MatMulNBits<K = 16, N = 2, bits = 4, block_size = 16>(a, w, s, , , " + bias +
        ") }");
    return demands.objection(p).has_value();
  };
  EXPECT_FALSE(objects("c", "", "c"));
  EXPECT_TRUE(objects("b", "", "b"));
  EXPECT_TRUE(objects("c", "d = Relu(c)", "d"));
  EXPECT_FALSE(objects("b", "n = Constant <value_ints = [2]> () d = Reshape(b, n)", "d"));
  EXPECT_TRUE(objects("b", "n = Constant <value_ints = [-1]> () d = Reshape(b, n)", "d"));
}

TEST(LoadDemands, AStepThatTheRuntimeWouldNotLoadIsNotProved) {
  auto piece = Workpiece::of(with_bias("c = Reshape(b, two)"));
  ASSERT_TRUE(piece.ok());
  ProofCache proofs;
  const StepMaker maker(std::move(*piece), proofs, 1);
  const std::string same = "agraph (float[2] p) => (float[2] q) { q = Identity(p) }";
  EXPECT_TRUE(std::holds_alternative<std::string>(maker.prove(instead_of("c", "b", same))));
}

// A choice between quantised tensors; `scale` and `zero_point` of the result, `x_zero` and `y_zero` of its
// alternatives. `two` is a scale that follows from constants.
Graph with_choice(const std::string& x_zero, const std::string& y_zero, const std::string& scale,
                  const std::string& made = "") {
  return testing::parsed(
      "<ir_version: 8, opset_import: [\"\" : 18, \"com.microsoft\" : 1]>\n"
      "agraph (bool[4] c, uint8[4] a, uint8[4] b, uint8 p, float s) => (uint8[4] y, float z)\n"
      "<float half = {0.5}, float four = {4.0}, uint8 k = {3}>\n"
      "{ two = Mul(half, four) z = Neg(two) " +
      made + " y = com.microsoft.QLinearWhere(c, a, half, " + x_zero + ", b, half, " + y_zero + ", " + scale +
      ", k) }");
}

constexpr char kScalar[] = "agraph (float p) => (float q) { q = Identity(p) }";

TEST(LoadDemands, WhereAZeroPointIsNoConstantTheScaleOfTheResultBecomesNone) {
  EXPECT_TRUE(LoadDemands(with_choice("k", "k", "two")).may_fold("two"));
  for (const auto& [x, y] : {std::pair{"p", "k"}, std::pair{"k", "p"}, std::pair{"p", "p"}}) {
    const LoadDemands demands(with_choice(x, y, "two"));
    EXPECT_FALSE(demands.may_fold("two")) << x << y;
    EXPECT_TRUE(demands.may_fold("z"));
    EXPECT_TRUE(demands.objection(instead_of("two", "half", kScalar)));
    EXPECT_FALSE(demands.objection(instead_of("z", "two", kScalar)));
  }
  // The runtime folds by itself what is made of a constant.
  EXPECT_FALSE(LoadDemands(with_choice("k", "p", "three", "three = Sqrt(two)")).may_fold("two"));
  EXPECT_TRUE(LoadDemands(with_choice("k", "p", "s")).may_fold("two"));
}

TEST(LoadDemands, AndInsideOfABranch) {
  Graph graph = with_choice("k", "k", "s");
  const ValuesByName names = values_by_name(graph);
  Node branch;
  branch.op = "If";
  branch.inputs = {names.at("c")};
  branch.captures = {names.at("two")};
  branch.outputs = {"chosen"};
  const auto body = testing::parsed(
      "<ir_version: 8, opset_import: [\"\" : 18, \"com.microsoft\" : 1]>\n"
      "agraph (float s) => (uint8[4] u)\n"
      "<bool[4] c = {1, 0, 1, 0}, uint8[4] a = {1, 2, 3, 4}, float half = {0.5}, uint8 k = {3}>\n"
      "{ u = com.microsoft.QLinearWhere(c, a, half, k, a, half, k, s, k) }");
  branch.bodies = {{.attribute = "then_branch", .graph = std::make_shared<Graph>(body), .captured = {0}}};
  graph.add(std::move(branch));
  EXPECT_FALSE(LoadDemands(graph).may_fold("two"));
  EXPECT_TRUE(LoadDemands(graph).may_fold("z"));
}

TEST(LoadDemands, ANewOperatorThatNeedsConstantsHasThem) {
  const LoadDemands demands(with_choice("k", "k", "two"));
  const auto objects = [&](const std::string& zero, std::vector<std::string> folds = {}) {
    Proposal p{.kind = "test", .what = "", .claim = {{"c", "a", "b", "p", "k"}, {"y"}, {}}, .folds = {}};
    p.folds = std::move(folds);
    p.claim.after = testing::parsed(
        "<ir_version: 8, opset_import: [\"\" : 18, \"com.microsoft\" : 1]>\n"
        "agraph (bool[4] c, uint8[4] a, uint8[4] b, uint8 p, uint8 k) => (uint8[4] q)\n"
        "<float half = {0.5}, uint8 own = {3}>\n"
        "{ m = Add(own, own) q = com.microsoft.QLinearWhere(c, a, half, k, b, half, " +
        zero + ", half, k) }");
    return demands.objection(p).has_value();
  };
  EXPECT_FALSE(objects("k"));
  EXPECT_FALSE(objects("own"));
  EXPECT_TRUE(objects("p"));
  EXPECT_TRUE(objects("m"));
  EXPECT_FALSE(objects("m", {"m"}));
}

TEST(LoadDemands, OfManyConstantsThoseAreFoldedThatTheRuntimeLoads) {
  auto piece = Workpiece::of(with_choice("k", "p", "two", "other = Add(half, four) z2 = Neg(other)"));
  ASSERT_TRUE(piece.ok());
  ProofCache proofs;
  const StepMaker maker(std::move(*piece), proofs, 1);
  const auto folded = [&](const std::vector<std::string>& names) {
    const auto found = maker.prove({.kind = "test", .what = "", .claim = {}, .folds = names});
    const auto* step = std::get_if<Step>(&found);
    return step ? step->proposal.folds : std::vector<std::string>{"refused"};
  };
  EXPECT_EQ(folded({"two", "other"}), std::vector<std::string>{"other"});
  EXPECT_EQ(folded({"two"}), std::vector<std::string>{"refused"});
}

}  // namespace
}  // namespace isomer
