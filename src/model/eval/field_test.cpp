#include "model/eval/field.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
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
  EXPECT_EQ(Zp{Zp::kModulus - 1} + Zp{1}, Zp{0});
}

// Miller and Rabin's test; with these bases it is exact below 3.3e24.
bool is_prime(std::uint64_t n) {
  using Wide = Uint128;
  const std::uint64_t bases[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41};
  for (const std::uint64_t b : bases)
    if (n % b == 0) return n == b;
  const int twos = std::countr_zero(n - 1);
  for (const std::uint64_t b : bases) {
    Wide x = 1, square = b;
    for (std::uint64_t e = (n - 1) >> twos; e != 0; e >>= 1, square = square * square % n)
      if (e % 2 == 1) x = x * square % n;
    bool passes = x == 1;
    for (int i = 0; i < twos; ++i, x = x * x % n) passes = passes || x == n - 1;
    if (!passes) return false;
  }
  return n > 1;
}

TEST(Field, HasAPrimeInWhichSmallPrimesAreSquares) {
  EXPECT_TRUE(is_prime(89) && !is_prime(91) && !is_prime(3215031751));  // the test of the test
  EXPECT_TRUE(is_prime(Zp::kModulus));
  EXPECT_TRUE(is_prime(2 * Zp::kModulus + 1));
  EXPECT_EQ(Zp::kModulus % 840, 839);
  for (std::uint64_t n = 2; n <= 83; ++n) EXPECT_TRUE(!is_prime(n) || Zp{n}.is_positive()) << n;
}

TEST(Field, FoldsProductsAsDivisionDoes) {
  using Wide = Uint128;
  const auto e = random_elements(200);
  for (const Zp x : e)
    for (const Zp y : e) EXPECT_EQ((x * y).v, static_cast<std::uint64_t>(Wide{x.v} * y.v % Zp::kModulus));
  const Zp last{Zp::kModulus - 1};
  EXPECT_EQ(last * last, Zp{1});
  EXPECT_EQ(Zp::fold(~std::uint64_t{0}), ~std::uint64_t{0} % Zp::kModulus);
  EXPECT_EQ(Zp::fold(Zp::kModulus), 0);
  const Wide most = ~Wide{0};  // what 32 products add up to is below
  EXPECT_EQ(Zp::reduce(Zp::shorten(most)).v, static_cast<std::uint64_t>(most % Zp::kModulus));
}

TEST(Field, SmallNumbersHaveTheirOwnSign) {
  for (std::int64_t n = 1; n <= 88; ++n) {
    EXPECT_EQ(field_unary(Fn::Relu, Zp::of(n), kKey), Zp::of(n)) << n;
    EXPECT_EQ(field_unary(Fn::Relu, Zp::of(-n), kKey), Zp{0}) << n;
    EXPECT_EQ(field_unary(Fn::Abs, Zp::of(-n), kKey), Zp::of(n)) << n;
    EXPECT_EQ(field_unary(Fn::Sign, Zp::of(-n), kKey), -Zp{1}) << n;
    EXPECT_EQ(field_binary(Fn::Max, Zp::of(n), Zp{0}, kKey), Zp::of(n)) << n;
    EXPECT_TRUE(field_less(Zp{0}, Zp::of(n))) << n;
    for (std::int64_t d = 1; d <= 36; ++d) {
      EXPECT_TRUE((Zp::of(n) / Zp::of(d)).is_positive()) << n << "/" << d;
      EXPECT_EQ(field_less(Zp::of(n), Zp::of(d)), n < d) << n << " < " << d;
    }
  }
  EXPECT_TRUE(Zp::of(0.375).is_positive());
  EXPECT_FALSE(Zp::of(-1.5).is_positive());
}

TEST(Field, TakesFloatsAtTheirExactValue) {
  EXPECT_EQ(Zp::of(0.5) * Zp{2}, Zp{1});
  EXPECT_EQ(Zp::of(-0.75) * Zp{4}, Zp::of(std::int64_t{-3}));
  EXPECT_EQ(Zp::of(1e300) * Zp::of(0x1p-1000), Zp::of(1e300 * 0x1p-1000));
  EXPECT_EQ(Zp::of(-0.0), Zp{0});
  const Zp two{2};
  EXPECT_EQ(Zp::of(std::numeric_limits<double>::denorm_min()) * two.power(1074), Zp{1});
  EXPECT_EQ(Zp::of(std::numeric_limits<double>::max()), two.power(1024) - two.power(1024 - 53));
  EXPECT_EQ(Zp::of(0x1p-1022), (two.inverse()).power(1022));
}

TEST(Field, ExactlyOneOfXAndMinusXIsPositive) {
  for (const Zp x : random_elements(200)) EXPECT_NE(x.is_positive(), (-x).is_positive());
  EXPECT_FALSE(Zp{0}.is_positive());
}

TEST(Field, PositiveIsWhatEulersCriterionSays) {
  for (const Zp x : random_elements(2000))
    EXPECT_EQ(x.is_positive(), x.power((Zp::kModulus - 1) / 2) == Zp{1});
  for (std::uint64_t n = 0; n < 2000; ++n)
    EXPECT_EQ(Zp{n}.is_positive(), Zp{n}.power((Zp::kModulus - 1) / 2) == Zp{1}) << n;
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
