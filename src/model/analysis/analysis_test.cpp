#include "model/analysis/analysis.h"

#include <gtest/gtest.h>

namespace isomer {
namespace {

constexpr auto kFloat = ElementType::Float;

// y[n,o,i] = Σ_{c,k} x[n,c,i+k-1]·w[o,c,k] + b[o]
Formula convolution(const Dim& batch) {
  FormulaBuilder f(
      {TensorType{kFloat, {batch, 4, 16}}, TensorType{kFloat, {8, 4, 3}}, TensorType{kFloat, {8}}});
  const auto p = f.axes({batch, 8, 16}), r = f.axes({4, 3});
  f.output(
      p, sum(r, f.input(0)(p[0], r[0], Index(p[2]) + Index(r[1]) - Index(1)) * f.input(1)(p[1], r[0], r[1])) +
             f.input(2)(p[1]));
  return std::move(f).finish();
}

TEST(Analysis, CountsOperationsAndBytesAlsoSymbolically) {
  const Dim n = Dim::symbol("n");
  const Cost c = cost(convolution(n));
  EXPECT_EQ(c.operations, n * Dim(8 * 16 * (4 * 3 * 2 + 1)));
  EXPECT_EQ(c.bytes, n * Dim(4 * (4 * 16 + 8 * 16)) + Dim(4 * (8 * 4 * 3 + 8)));
}

TEST(Analysis, ReadsAxisRolesOffTheIndices) {
  const auto roles = axis_roles(convolution(2), 0);
  EXPECT_EQ(roles[0].axes, (std::vector{AxisRole::Parallel, AxisRole::Reduced, AxisRole::Window}));
  EXPECT_EQ(roles[0].output_axis, (std::vector{0, -1, 2}));
  EXPECT_EQ(roles[0].broadcast, (std::vector{1}));
  EXPECT_EQ(roles[1].axes, (std::vector{AxisRole::Parallel, AxisRole::Reduced, AxisRole::Reduced}));
  EXPECT_EQ(roles[2].broadcast, (std::vector{0, 2}));
}

TEST(Analysis, AnAxisWhosePositionCountsIsNotParallel) {
  // The upper triangle of each matrix, and each row's number times it: slices of a triangle are none.
  FormulaBuilder f({TensorType{kFloat, {2, 4, 5}}});
  const auto p = f.axes({2, 4, 5}), q = f.axes({2, 4, 5});
  f.output(p, cases({{Domain{Index(p[2]) - Index(p[1])}, f.input(0)(p[0], p[1], p[2])}}, number(kFloat, 0)));
  f.output(q, f.input(0)(q[0], q[1], q[2]) * index_number(q[1], kFloat));
  const Formula both = std::move(f).finish();
  EXPECT_EQ(axis_roles(both, 0)[0].axes, (std::vector{AxisRole::Parallel, AxisRole::Mixed, AxisRole::Mixed}));
  EXPECT_EQ(axis_roles(both, 1)[0].axes,
            (std::vector{AxisRole::Parallel, AxisRole::Mixed, AxisRole::Parallel}));
}

TEST(Analysis, KnowsLinearAffineAndNonlinear) {
  const Formula conv = convolution(2);
  EXPECT_EQ(linearity(conv, 0, 0), Linearity::Affine);
  EXPECT_EQ(linearity(conv, 0, 2), Linearity::Affine);
  FormulaBuilder f({TensorType{kFloat, {3}}, TensorType{kFloat, {3}}});
  const auto p = f.axes({3});
  const Expr x = f.input(0)(p[0]), y = f.input(1)(p[0]);
  f.output(p, x * y / 2.0);
  f.output(f.axes({3}), x * x);
  f.output(p, where(apply(Fn::Less, {y, number(kFloat, 0)}), x, number(kFloat, 0)));
  f.output(p, apply(Fn::Exp, {y}) * x - x);
  f.output(p, y / x);
  const Formula g = std::move(f).finish();
  EXPECT_EQ(linearity(g, 0, 0), Linearity::Linear);
  EXPECT_EQ(linearity(g, 1, 0), Linearity::Nonlinear);
  EXPECT_EQ(linearity(g, 2, 0), Linearity::Linear);
  EXPECT_EQ(linearity(g, 2, 1), Linearity::Nonlinear);
  EXPECT_EQ(linearity(g, 3, 0), Linearity::Linear);
  EXPECT_EQ(linearity(g, 4, 1), Linearity::Linear);
  EXPECT_EQ(linearity(g, 4, 0), Linearity::Nonlinear);
  EXPECT_EQ(linearity(g, 1, 1), Linearity::Independent);
  // Linear in each of two inputs is not linear in both.
  EXPECT_EQ(linearity(g, 0, std::set{0, 1}), Linearity::Nonlinear);
  EXPECT_EQ(linearity(conv, 0, std::set{0, 2}), Linearity::Linear);
}

TEST(Analysis, ZeroInMeansZeroOutOnlyWhereItDoes) {
  EXPECT_TRUE(preserves_zero(convolution(2), 0));
  FormulaBuilder f({TensorType{kFloat, {3}}});
  const auto p = f.axes({3});
  f.output(p, apply(Fn::Exp, {f.input(0)(p[0])}));
  f.output(p, apply(Fn::Tanh, {f.input(0)(p[0])}));
  f.output(p, f.input(0)(p[0]) / f.input(0)(p[0]));
  const Formula g = std::move(f).finish();
  EXPECT_FALSE(preserves_zero(g, 0));
  EXPECT_TRUE(preserves_zero(g, 1));
  EXPECT_FALSE(preserves_zero(g, 2));
}

TEST(Analysis, FindsTheRegionThatABoxNeeds) {
  const auto needed = needed_regions(convolution(2), 0, Box{.low = {1, 3, 0}, .high = {2, 5, 4}});
  EXPECT_EQ(needed[0], (Box{.low = {1, 0, 0}, .high = {2, 4, 5}}));
  EXPECT_EQ(needed[1], (Box{.low = {3, 0, 0}, .high = {5, 4, 3}}));
  EXPECT_EQ(needed[2], (Box{.low = {3}, .high = {5}}));
}

}  // namespace
}  // namespace isomer
