#include "kernel/normal/piecewise_linear.h"

#include <gtest/gtest.h>

namespace isomer {
namespace {

const PiecewiseLinear kY{.start = 0, .slope = 1};

PiecewiseLinear number(const Rational& value) { return {.start = value}; }
PiecewiseLinear max(const PiecewiseLinear& f, const PiecewiseLinear& g) {
  return g + relu(f + Rational(-1) * g);
}
PiecewiseLinear min(const PiecewiseLinear& f, const PiecewiseLinear& g) {
  return f + Rational(-1) * relu(f + Rational(-1) * g);
}

TEST(PiecewiseLinear, AClipIsTheSameInEitherOrderOfItsBounds) {
  EXPECT_EQ(max(number(0), min(number(6), kY)), min(number(6), max(number(0), kY)));
  EXPECT_FALSE(max(number(0), min(number(6), kY)) == min(number(7), max(number(0), kY)));
}

TEST(PiecewiseLinear, BoundsThatCrossAreNotTheSameInEitherOrder) {
  EXPECT_EQ(min(number(-1), max(number(2), kY)), number(-1));
  EXPECT_EQ(max(number(2), min(number(-1), kY)), number(2));
}

TEST(PiecewiseLinear, AZeroAtAKnotIsNoSecondKnot) {
  const PiecewiseLinear hat = relu(kY + number(1)) + Rational(-2) * relu(kY) + relu(kY + number(-1));
  EXPECT_EQ(relu(hat), hat);
  EXPECT_EQ(relu(hat).bends.size(), 3U);
}

// By points on a fine grid: max(f(y), 0) for many f, some of them tangent to zero or zero on a piece.
TEST(PiecewiseLinear, ReluIsTheMaximumWithZeroEverywhere) {
  unsigned state = 1;
  const auto pick = [&](int most) {
    state = state * 1664525U + 1013904223U;
    return static_cast<int>((state >> 16U) % static_cast<unsigned>(2 * most + 1)) - most;
  };
  for (int round = 0; round < 2000; ++round) {
    PiecewiseLinear f{.start = pick(3), .slope = pick(2)};
    for (int k = pick(2); k < 3; ++k) f.add_bend(Rational(pick(4)) / 2, pick(2));
    const PiecewiseLinear g = relu(f);
    for (int i = -60; i <= 60; ++i) {
      const Rational y = Rational(i) / 6;
      const Rational value = f.at(y);
      ASSERT_EQ(g.at(y), value > 0 ? value : Rational(0)) << round << " at " << y;
    }
    for (const auto& [knot, bend] : g.bends) EXPECT_NE(bend, 0);
  }
}

}  // namespace
}  // namespace isomer
