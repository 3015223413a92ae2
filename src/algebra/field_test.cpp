#include "algebra/field.h"

#include <gtest/gtest.h>

#include <random>

namespace isomer {
namespace {

constexpr std::uint64_t kKey = 0x5eed;

std::vector<Zp> random_elements(int count) {
  std::mt19937_64 random(1);
  std::vector<Zp> out;
  for (int i = 0; i < count; ++i) out.push_back({Zp::fold(random())});
  return out;
}

TEST(Field, IsAField) {
  for (const Zp x : random_elements(200)) {
    EXPECT_EQ(x + (-x), Zp{0});
    EXPECT_EQ(x * x.inverse(), Zp{1});
    EXPECT_EQ(x - x, Zp{0});
  }
  EXPECT_EQ(Zp::of(std::int64_t{-1}) * Zp::of(std::int64_t{-1}), Zp{1});
  EXPECT_EQ(Zp{Zp::kP - 1} + Zp{1}, Zp{0});
}

TEST(Field, TakesFloatsAtTheirExactValue) {
  EXPECT_EQ(Zp::of(0.5) * Zp{2}, Zp{1});
  EXPECT_EQ(Zp::of(-0.75) * Zp{4}, Zp::of(std::int64_t{-3}));
  EXPECT_EQ(Zp::of(1e300) * Zp::of(0x1p-1000), Zp::of(1e300 * 0x1p-1000));
  EXPECT_EQ(Zp::of(-0.0), Zp{0});
}

TEST(Field, ExactlyOneOfXAndMinusXIsPositive) {
  for (const Zp x : random_elements(200)) EXPECT_NE(x.is_positive(), (-x).is_positive());
  EXPECT_FALSE(Zp{0}.is_positive());
}

TEST(Field, ReluAbsAndSqrtObeyTheirLaws) {
  const auto elements = random_elements(100);
  for (const Zp x : elements) {
    const Zp relu = field_unary(Fn::Relu, x, kKey), abs = field_unary(Fn::Abs, x, kKey);
    EXPECT_EQ(relu - field_unary(Fn::Relu, -x, kKey), x);
    EXPECT_EQ(relu + field_unary(Fn::Relu, -x, kKey), abs);
    EXPECT_EQ(field_unary(Fn::Sqrt, x * x, kKey), abs);
    EXPECT_EQ(field_unary(Fn::Sign, x, kKey) * abs, x);
    for (const Zp s : elements) {
      if (!s.is_positive()) continue;
      EXPECT_EQ(field_unary(Fn::Relu, s * x, kKey), s * relu);
      EXPECT_EQ(field_unary(Fn::Abs, s * x, kKey), s * abs);
    }
  }
}

TEST(Field, MaxIsATotalOrderThatTheKeyChooses) {
  const auto e = random_elements(30);
  int swapped = 0;
  for (const Zp x : e) {
    for (const Zp y : e) {
      const Zp max = field_binary(Fn::Max, x, y, kKey);
      EXPECT_EQ(max, field_binary(Fn::Max, y, x, kKey));
      EXPECT_EQ(field_binary(Fn::Min, x, y, kKey) + max, x + y);
      swapped += field_binary(Fn::Max, x, y, kKey + 1) == max ? 0 : 1;
      for (const Zp z : e)
        EXPECT_EQ(field_binary(Fn::Max, max, z, kKey),
                  field_binary(Fn::Max, x, field_binary(Fn::Max, y, z, kKey), kKey));
    }
  }
  EXPECT_GT(swapped, 100);
}

TEST(Field, OddFunctionsAreOddAndOthersDependOnTheKey) {
  for (const Zp x : random_elements(50)) {
    EXPECT_EQ(field_unary(Fn::Tanh, -x, kKey), -field_unary(Fn::Tanh, x, kKey));
    EXPECT_NE(field_unary(Fn::Sigmoid, x, kKey), field_unary(Fn::Sigmoid, x, kKey + 1));
    EXPECT_EQ(field_binary(Fn::Pow, x, Zp{3}, kKey), x * x * x);
    EXPECT_EQ(field_binary(Fn::Pow, x * x, Zp::of(0.5), kKey), field_unary(Fn::Abs, x, kKey));
  }
}

}  // namespace
}  // namespace isomer
