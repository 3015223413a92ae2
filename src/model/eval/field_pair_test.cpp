#include "model/eval/field_pair.h"

#include <gtest/gtest.h>

#include <random>

namespace isomer {
namespace {

constexpr std::uint64_t kKey = 0x5eed;

FieldPair random_pair(std::mt19937_64& random) {
  return {.p = {Zp::fold(random())}, .q = {Zq::fold(random())}};
}

FieldPair exp(const FieldPair& x) { return field_unary(Fn::Exp, x, kKey); }

void expect_agree(const FieldPair& a, const FieldPair& b) {
  const Agreement result = compare(a, b);
  EXPECT_TRUE(result.tested);
  EXPECT_TRUE(result.agree);
}

TEST(FieldPair, ExpTurnsSumsIntoProducts) {
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 50; ++trial) {
    const FieldPair a = random_pair(random), b = random_pair(random);
    expect_agree(exp(a + b), exp(a) * exp(b));
    expect_agree(exp(a - b), exp(a) / exp(b));
    EXPECT_FALSE(compare(exp(a + b), exp(a) + exp(b)).agree);
    EXPECT_FALSE(compare(exp(a), exp(b)).agree);
  }
  expect_agree(exp(FieldPair{}), FieldPair::of(std::int64_t{1}));
}

TEST(FieldPair, SoftmaxDoesNotDependOnTheShift) {
  std::mt19937_64 random(4);
  const FieldPair a = random_pair(random), b = random_pair(random), shift = random_pair(random),
                  v = random_pair(random);
  const auto weighted = [&](const FieldPair& x, const FieldPair& y) {
    return exp(x) / (exp(x) + exp(y)) * v;
  };
  expect_agree(weighted(a, b), weighted(a - shift, b - shift));
  EXPECT_FALSE(compare(weighted(a, b), weighted(a - shift, b)).agree);
}

TEST(FieldPair, ReluAndAbsKeepTheirLaws) {
  std::mt19937_64 random(5);
  for (int trial = 0; trial < 50; ++trial) {
    const FieldPair x = random_pair(random);
    const FieldPair relu = field_unary(Fn::Relu, x, kKey);
    expect_agree(relu - field_unary(Fn::Relu, -x, kKey), x);
    expect_agree(relu + field_unary(Fn::Relu, -x, kKey), field_unary(Fn::Abs, x, kKey));
    expect_agree(field_unary(Fn::Sqrt, x * x, kKey), field_unary(Fn::Abs, x, kKey));
    // exp(x) / 2 has the same sign mod q for every x: relu of it must not agree with relu of another one.
    const FieldPair half = FieldPair::of(0.5) * exp(x), other = FieldPair::of(0.5) * exp(random_pair(random));
    EXPECT_FALSE(compare(field_unary(Fn::Relu, half, kKey), field_unary(Fn::Relu, other, kKey)).tested);
  }
}

TEST(FieldPair, WithoutACommonLaneNothingWasTested) {
  std::mt19937_64 random(6);
  const FieldPair x = random_pair(random);
  EXPECT_FALSE(compare(exp(x), field_unary(Fn::Sqrt, x * x, kKey)).tested);
  EXPECT_FALSE(compare(exp(x) * field_unary(Fn::Sqrt, x * x, kKey), x).tested);
}

TEST(FieldPair, TheSecondModulusMultipliesAsDivisionDoes) {
  using Wide = Uint128;
  std::mt19937_64 random(7);
  for (int trial = 0; trial < 1000; ++trial) {
    const Zq x{Zq::fold(random())}, y{Zq::fold(random())};
    EXPECT_EQ((x * y).v, static_cast<std::uint64_t>(Wide{x.v} * y.v % Zq::kModulus));
    EXPECT_EQ(x * x.inverse(), Zq{1});
    EXPECT_NE(x.is_positive(), (-x).is_positive());
  }
  const Zq last{Zq::kModulus - 1};
  EXPECT_EQ(last * last, Zq{1});
}

TEST(FieldPair, ItsSizeIsWhatTensorsThink) {
  EXPECT_EQ(static_cast<std::size_t>(bits(ElementType::FieldPair)), 8 * sizeof(FieldPair));
}

TEST(FieldPair, ExpIsPositiveAndOfNoValueThatEveryKeyHas) {
  std::mt19937_64 random(8);
  const FieldPair x = random_pair(random), one = FieldPair::of(std::int64_t{1});
  EXPECT_TRUE(exp(x).is_positive());
  EXPECT_FALSE(compare(exp(one), field_unary(Fn::Exp, one, kKey + 1)).agree);
}

TEST(FieldPair, MaxWithZeroIsReluWithoutAResidueModPToo) {
  std::mt19937_64 random(9);
  // Some multiple of exp is a square for every x, some for none: the sign of a lane mod q says nothing.
  for (std::int64_t k = 1; k < 20; ++k) {
    const FieldPair a = FieldPair::of(k) * exp(random_pair(random)),
                    b = FieldPair::of(k) * exp(random_pair(random));
    for (const Fn fn : {Fn::Max, Fn::Min})
      EXPECT_FALSE(
          compare(field_binary(fn, a, FieldPair{}, kKey), field_binary(fn, FieldPair{}, b, kKey)).tested);
  }
}

TEST(FieldPair, TakesFloatsAtTheirExactValueInBothLanes) {
  expect_agree(FieldPair::of(0.375) * FieldPair::of(8.0), FieldPair::of(std::int64_t{3}));
  expect_agree(FieldPair::of(-1e30) * FieldPair::of(0x1p-200), FieldPair::of(-1e30 * 0x1p-200));
}

}  // namespace
}  // namespace isomer
