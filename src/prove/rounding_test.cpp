#include "prove/rounding.h"

#include <gtest/gtest.h>

#include <limits>

#include "graph/rebuild.h"
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
  // Each element by itself, whatever stands beside it.
  const Graph bias = program("k = Identity(a)", "float[2] a = {0.1, 2.0}");
  EXPECT_TRUE(compare_folded(floats({0.1F + 1.5e-8F, 2}), bias).ok());
  EXPECT_FALSE(compare_folded(floats({0.1F + 1e-7F, 2}), bias).ok());
}

TEST(Rounding, NoRestatedElementChangesItsSignOrIsMeasuredByAnother) {
  const Graph divisor = program("k = Identity(a)", "float[4] a = {1000000.0, 0.001, 0.0, 3.0}");
  EXPECT_TRUE(compare_folded(floats({1e6F, 0.001F, 0, 3}), divisor).ok());
  EXPECT_FALSE(compare_folded(floats({1e6F, -0.1F, 0, 3}), divisor).ok());
  EXPECT_FALSE(compare_folded(floats({1e6F, 0.0011F, 0, 3}), divisor).ok());
  EXPECT_FALSE(compare_folded(floats({1e6F, 0, 0, 3}), divisor).ok());
  EXPECT_FALSE(compare_folded(floats({1e6F, 0.001F, 1e-12F, 3}), divisor).ok());
}

TEST(Rounding, WhatIsNotFiniteIsTheSame) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor stored = floats({inf, 2, nan});
  for (const std::string op : {"k = Identity(a)", "k = Add(a, z)"}) {
    Graph graph = program(op, "float[3] a = {1.0, 2.0, 3.0}, float[1] z = {0.0}");
    graph = with_changed_nodes(graph, [&](Node& node) {
      if (node.outputs[0] == "a") node.tensor = stored;
    });
    EXPECT_TRUE(compare_folded(stored, graph).ok()) << op;
    EXPECT_FALSE(compare_folded(floats({inf, 5, nan}), graph).ok()) << op;
    EXPECT_FALSE(compare_folded(floats({7, 2, nan}), graph).ok()) << op;
    EXPECT_FALSE(compare_folded(floats({-inf, 2, nan}), graph).ok()) << op;
    EXPECT_FALSE(compare_folded(floats({inf, 2, 3}), graph).ok()) << op;
    EXPECT_FALSE(compare_folded(floats({inf, inf, nan}), graph).ok()) << op;
  }
}

TEST(Rounding, WhatJumpsIsWhatTheStoredTypesMakeOfIt) {
  // In float32 the product is 1; as a real number it is more.
  const Graph ceil = program("p = Mul(a, b)\nk = Ceil(p)", "float[1] a = {10.0}, float[1] b = {0.1}");
  EXPECT_TRUE(compare_folded(floats({1}), ceil).ok());
  EXPECT_FALSE(compare_folded(floats({2}), ceil).ok());
  // 1 + 2^-10 has no place in a bfloat16.
  const Graph cut = program("h = Cast<to=16>(a)\nk = Cast<to=1>(h)", "float[1] a = {1.0009765625}");
  EXPECT_TRUE(compare_folded(floats({1}), cut).ok());
  EXPECT_FALSE(compare_folded(floats({1.0009765625F}), cut).ok());
  // Runtimes need not agree on the logarithm of 16 over that of 2.
  const Graph open = program("p = Log(a)\nq = Log(b)\nr = Div(p, q)\nk = Floor(r)",
                             "float[1] a = {16.0}, float[1] b = {2.0}");
  EXPECT_FALSE(compare_folded(floats({4}), open).ok());
  EXPECT_FALSE(compare_folded(floats({3}), open).ok());
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

}  // namespace
}  // namespace isomer
