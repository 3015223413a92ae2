#include "runtime/judge/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace isomer {
namespace {

TEST(Statistics, StudentsQuantilesAreThoseOfTheTables) {
  EXPECT_NEAR(student_quantile(0.95, 1), 12.706, 0.01);
  EXPECT_NEAR(student_quantile(0.95, 2), 4.303, 0.01);
  EXPECT_NEAR(student_quantile(0.95, 3), 3.182, 0.03);
  EXPECT_NEAR(student_quantile(0.95, 10), 2.228, 0.005);
  EXPECT_NEAR(student_quantile(0.99, 4), 4.604, 0.1);
  EXPECT_NEAR(student_quantile(0.99, 20), 2.845, 0.005);
}

TEST(Statistics, MedianOfAnEvenNumberIsTheMiddle) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
}

TEST(Statistics, OneRoundSaysNothing) {
  const Interval interval = median_interval({{1.5, 1.5, 1.5}}, 0.95, 0);
  EXPECT_FALSE(interval.is_above(1));
  EXPECT_EQ(interval.estimate, 1.5);
}

TEST(Statistics, TheIntervalOfReciprocalsIsTheReciprocalOne) {
  const Groups groups{{1.1, 1.2}, {1.15, 1.05}, {1.08, 1.13}, {1.2, 1.12}};
  Groups inverse = groups;
  for (auto& group : inverse)
    for (double& value : group) value = 1 / value;
  const Interval a = median_interval(groups, 0.95, 7), b = median_interval(inverse, 0.95, 7);
  EXPECT_NEAR(a.estimate * b.estimate, 1, 1e-12);
  EXPECT_NEAR(a.low * b.high, 1, 0.01);
}

// Noise within and between rounds, as seen on a busy machine: how often a true ratio of 1 is excluded.
TEST(Statistics, IntervalsHoldTheirPromiseForFewRounds) {
  std::mt19937 random(1);
  std::normal_distribution<double> within(0, 0.03), between(0, 0.01);
  for (const int rounds : {4, 6, 12}) {
    int misses = 0;
    constexpr int kTrials = 400;
    for (int trial = 0; trial < kTrials; ++trial) {
      Groups groups;
      for (int r = 0; r < rounds; ++r) {
        const double shift = between(random);
        auto& group = groups.emplace_back();
        for (int i = 0; i < 3; ++i) group.push_back(std::exp(shift + within(random)));
      }
      const Interval interval = median_interval(groups, 0.95, static_cast<std::uint64_t>(trial), 300);
      misses += interval.is_above(1) || interval.is_below(1);
    }
    EXPECT_LE(misses, 0.06 * kTrials) << rounds << " rounds";
  }
}

}  // namespace
}  // namespace isomer
