#include "optimizer/facts/repeated_constant.h"

#include <gtest/gtest.h>

namespace isomer {
namespace {

using Axes = std::vector<bool>;

Tensor integers(const Extents& extents, const std::vector<std::int64_t>& values) {
  return Tensor::of(ElementType::Int64, extents, values);
}

TEST(RepeatedConstant, AxesOfEqualSlices) {
  EXPECT_EQ(repeated_axes(integers({3, 2}, {4, 4, 5, 5, 6, 6})), (Axes{false, true}));
  EXPECT_EQ(repeated_axes(integers({3, 2}, {4, 5, 4, 5, 4, 5})), (Axes{true, false}));
  EXPECT_EQ(repeated_axes(integers({2, 2}, {4, 4, 4, 4})), (Axes{true, true}));
  EXPECT_EQ(repeated_axes(integers({3, 2}, {4, 5, 4, 5, 4, 6})), (Axes{false, false}));
  EXPECT_EQ(repeated_axes(integers({2, 1, 2}, {4, 5, 4, 5})), (Axes{true, false, false}));  // one is none
  EXPECT_EQ(repeated_axes(integers({0, 2}, {})), (Axes{false, false}));
}

TEST(RepeatedConstant, IsOneSliceExpanded) {
  ProgramBuilder b({{"", 18}}, "b.");
  EXPECT_TRUE(as_expanded(b, b.input("w"), integers({3, 2}, {4, 4, 5, 5, 6, 6})).has_value());
  EXPECT_FALSE(as_expanded(b, b.input("w"), integers({2, 2}, {4, 4, 4, 4})).has_value());
  EXPECT_FALSE(as_expanded(b, b.input("w"), integers({2, 2}, {1, 2, 3, 4})).has_value());
}

}  // namespace
}  // namespace isomer
