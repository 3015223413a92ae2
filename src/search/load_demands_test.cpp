#include "search/load_demands.h"

#include <gtest/gtest.h>

#include "propose/testing.h"
#include "search/steps.h"

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
  // The sizes of what is reshaped do not matter.
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

}  // namespace
}  // namespace isomer
