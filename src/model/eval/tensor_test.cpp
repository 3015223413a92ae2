#include "model/expr/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "model/eval/program.h"

namespace isomer {
namespace {

TEST(Tensor, SizesThatOverflowHaveNoSize) {
  const std::int64_t big = std::int64_t{1} << 40;
  EXPECT_EQ(byte_size(ElementType::Float, {big, big}), std::nullopt);
  EXPECT_EQ(byte_size(ElementType::Float, {-1}), std::nullopt);
  EXPECT_EQ(byte_size(ElementType::Float, {big, big, 0}), std::nullopt);
  EXPECT_EQ(byte_size(ElementType::Float, {big, 0}), 0u);
  EXPECT_EQ(byte_size(ElementType::Int4, {3}), 2u);
  EXPECT_EQ(byte_size(ElementType::Int2, {5}), 2u);
  EXPECT_EQ(byte_size(ElementType::String, {3}), std::nullopt);
}

TEST(Tensor, EveryFloat16SurvivesTheWayThroughFloat) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float wide = float16_to_float(half);
    EXPECT_TRUE(std::isnan(wide) ? std::isnan(float16_to_float(float_to_float16(wide)))
                                 : float_to_float16(wide) == half)
        << bits;
    const float brain = bfloat16_to_float(half);
    EXPECT_TRUE(std::isnan(brain) || float_to_bfloat16(brain) == half) << bits;
  }
}

TEST(Tensor, SixteenBitsRoundHalfToEven) {
  EXPECT_EQ(float16_to_float(float_to_float16(2049.0f)), 2048.0f);
  EXPECT_EQ(float16_to_float(float_to_float16(2051.0f)), 2052.0f);
  EXPECT_EQ(float_to_float16(65520.0f), 0x7c00);
  EXPECT_EQ(float_to_float16(65519.0f), 0x7bff);
  EXPECT_EQ(float_to_float16(0x1p-25f), 0);
  EXPECT_EQ(float_to_float16(0x1.8p-25f), 1);
  EXPECT_EQ(float_to_bfloat16(std::numeric_limits<float>::max()), 0x7f80);
}

TEST(Tensor, ConvertsAsCastDoes) {
  const Tensor x = Tensor::of(ElementType::Float, {4}, std::vector<float>{-1.7f, 2.5f, 300.0f, 0.0f});
  EXPECT_EQ(convert(x, ElementType::Int64).integers(), (std::vector<std::int64_t>{-1, 2, 300, 0}));
  EXPECT_EQ(convert(x, ElementType::Bool).integers(), (std::vector<std::int64_t>{1, 1, 1, 0}));
  EXPECT_EQ(convert(x, ElementType::Double).doubles()->at(1), 2.5);
}

}  // namespace
}  // namespace isomer
