#include "app/equality/tensor_difference.h"

#include <gtest/gtest.h>

#include <cmath>

namespace isomer {
namespace {

Tensor floats(const std::vector<float>& values) {
  return Tensor::of(ElementType::Float, {static_cast<std::int64_t>(values.size())}, values);
}

TEST(TensorDifference, SaysTheFirstAndTheLargest) {
  const TensorDifference d = difference(floats({1, 2, 4}), floats({1, 2.5, 8}));
  EXPECT_EQ(d.differing, 2u);
  EXPECT_EQ(d.first, Extents{1});
  EXPECT_EQ(d.worst, Extents{2});
  EXPECT_DOUBLE_EQ(d.largest_absolute, 4);
  EXPECT_DOUBLE_EQ(d.largest_relative, 0.5);
  EXPECT_DOUBLE_EQ(d.of_scale, 1);
}

TEST(TensorDifference, OfIntegersIsExact) {
  const auto bytes = [](const std::vector<std::int8_t>& v) { return Tensor::of(ElementType::Int8, {3}, v); };
  EXPECT_TRUE(difference(bytes({1, -128, 3}), bytes({1, -128, 3})).is_equal());
  EXPECT_EQ(difference(bytes({1, -128, 3}), bytes({1, 127, 3})).largest_absolute, 255);
  EXPECT_EQ(usual_tolerance(ElementType::Int8), 0);
}

TEST(TensorDifference, ANumberAgainstNoneIsInfinite) {
  EXPECT_TRUE(difference(floats({NAN, INFINITY}), floats({NAN, INFINITY})).is_equal());
  EXPECT_TRUE(std::isinf(difference(floats({1, 1}), floats({1, NAN})).largest_absolute));
}

TEST(TensorDifference, OtherShapesAndTypesAreSaid) {
  EXPECT_EQ(difference(floats({1}), floats({1, 2})).misfit, "[1] and [2]");
  EXPECT_FALSE(
      difference(floats({1}), Tensor::of(ElementType::Double, {1}, std::vector<double>{1})).misfit.empty());
}

}  // namespace
}  // namespace isomer
