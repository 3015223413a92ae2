#include "prove/rounding.h"

#include <gtest/gtest.h>

#include "graph/infer.h"
#include "graph/testing.h"

namespace isomer {
namespace {

using testing::parsed;

Graph program(const std::string& body, const std::string& constants) {
  return parsed("<ir_version: 8, opset_import: [\"\" : 18]>\nagraph () => (k) <" + constants + "> {\n" +
                body + "\n}");
}

Tensor floats(const std::vector<float>& values) {
  return Tensor::of(ElementType::Float, {static_cast<std::int64_t>(values.size())}, values);
}

TEST(Rounding, WhatIsOnlyMovedIsExact) {
  const Graph moved = program("k = Concat<axis=0>(a, b)", "float[1] a = {0.1}, float[2] b = {2.0, 3.0}");
  const auto exact = compare_folded(floats({0.1F, 2, 3}), moved);
  ASSERT_TRUE(exact.ok());
  EXPECT_TRUE(exact->is_exact);
  EXPECT_FALSE(exact->is_restated);
}

TEST(Rounding, LastDigitsMayBeRestatedAndNoMore) {
  const auto matrix = [](float x) {
    return Tensor::of(ElementType::Float, {1, 2}, std::vector<float>{x, 2});
  };
  const Graph same = program("k = Identity(a)", "float[1,2] a = {0.1, 2.0}");
  const auto restated = compare_folded(matrix(0.1F + 1.5e-8F), same);
  ASSERT_TRUE(restated.ok());
  EXPECT_FALSE(restated->is_exact);
  EXPECT_TRUE(restated->is_restated);
  EXPECT_LE(restated->worst_ulp, 4);
  EXPECT_FALSE(compare_folded(matrix(0.1F + 1e-7F), same).ok());
  EXPECT_FALSE(compare_folded(matrix(0.101F), same).ok());
  EXPECT_FALSE(compare_folded(matrix(-0.1F), same).ok());
  // A bias is what is left of terms that cancelled: its elements are measured by the largest.
  const Graph bias = program("k = Identity(a)", "float[2] a = {0.1, 2.0}");
  EXPECT_TRUE(compare_folded(floats({0.1F + 1e-7F, 2}), bias).ok());
  EXPECT_FALSE(compare_folded(floats({0.1F + 1e-6F, 2}), bias).ok());
}

TEST(Rounding, OneRoundingIsWithinTheBoundAndOnePercentIsNot) {
  const Graph product = program("k = Mul(a, b)", "float[2] a = {0.1, 3.0}, float[2] b = {0.7, 0.3}");
  const auto folded = compare_folded(floats({0.1F * 0.7F, 3.0F * 0.3F}), product);
  ASSERT_TRUE(folded.ok());
  EXPECT_FALSE(folded->is_exact);
  EXPECT_LE(folded->worst_ulp, 1);
  EXPECT_FALSE(compare_folded(floats({0.1F * 0.7F * 1.01F, 3.0F * 0.3F}), product).ok());
}

TEST(Rounding, CancellationIsMeasuredByItsTerms) {
  // 1000.1 - 1000 is off by the roundings of a thousand, not of a tenth.
  const Graph difference =
      program("k = Sub(a, b)", "float[2] a = {1000.1, 50.0}, float[2] b = {1000.0, 0.0}");
  EXPECT_TRUE(compare_folded(floats({0.09997559F, 50}), difference).ok());
  const auto off = compare_folded(floats({0.09997559F + 5e-5F, 50}), difference);
  ASSERT_TRUE(off.ok());
  // In its own units it is far off all the same, and that is what is told.
  EXPECT_GT(off->worst_ulp, 1000);
  EXPECT_FALSE(compare_folded(floats({0.1010F, 50}), difference).ok());
}

TEST(Rounding, ShapesAndTypesHaveToAgree) {
  const Graph same = program("k = Identity(a)", "float[2] a = {1.0, 2.0}");
  EXPECT_FALSE(compare_folded(floats({1, 2, 3}), same).ok());
  EXPECT_FALSE(
      compare_folded(Tensor::of(ElementType::Int64, {2}, std::vector<std::int64_t>{1, 2}), same).ok());
}

TEST(Rounding, JumpsAreNotContinuous) {
  const auto continuous = [](const std::string& body) {
    const Graph graph =
        parsed("<ir_version: 8, opset_import: [\"\" : 18]>\nagraph (float[4] x, float[4] z) => (y) {\n" +
               body + "\n}");
    const auto info = infer(graph);
    const NodeId last = graph.outputs()[0].node;
    const Definition definition = define_node(graph, *info, last);
    return is_continuous(std::get<Formula>(definition), graph.node(last), {true, false});
  };
  for (const char* op : {"Relu", "Exp", "LeakyRelu", "Softmax", "Elu"})
    EXPECT_TRUE(continuous(std::string("y = ") + op + "(x)")) << op;
  for (const char* op : {"Floor", "Round", "Sign", "ArgMax", "Cast<to=7>"})
    EXPECT_FALSE(continuous(std::string("y = ") + op + "(x)")) << op;
  EXPECT_FALSE(continuous("y = Less(x, z)"));
  // Of what is not rounded, anything may be asked.
  EXPECT_TRUE(continuous("y = Less(z, x)") == continuous("y = Less(x, z)"));
}

}  // namespace
}  // namespace isomer
