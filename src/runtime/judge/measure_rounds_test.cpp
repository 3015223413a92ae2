#include "runtime/judge/measure_rounds.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <random>
#include <thread>

namespace isomer {
namespace {

// Rounds of two models of which b takes 1 / ratio of a's time, as noisy as rounds are: one error for all of a
// round, by where its memory lies, and one for each leg.
class Noisy {
 public:
  Noisy(double ratio, unsigned seed) : ratio_(ratio), random_(seed) {}

  Round operator()(const RoundPlan& plan) {
    Round round{plan.a_made_first, {}};
    const double of_round = error(0.006);
    for (std::int64_t k = 0; k < plan.fewest_blocks; ++k) {
      BlockTimes block;
      for (LegTime& leg : block.a) leg = time(of_round * error(0.02));
      for (LegTime& leg : block.b) leg = time(error(0.02) / ratio_);
      round.blocks.push_back(block);
    }
    return round;
  }

 private:
  double error(double share) { return std::exp(share * normal_(random_)); }
  static LegTime time(double factor) {
    const auto ns = static_cast<std::int64_t>(5e6 * factor);
    return {ns, ns};
  }
  double ratio_;
  std::mt19937 random_;
  std::normal_distribution<double> normal_;
};

PairMeasurement measured(double ratio, unsigned seed, double against) {
  Noisy noisy(ratio, seed);
  const MeasureOptions options{.seconds = 1e6, .precision = 0, .beyond = against, .seed = seed};
  auto result =
      measure_rounds([&](const RoundPlan& plan) { return Outcome<Round>(noisy(plan)); }, options, against);
  EXPECT_TRUE(result.ok());
  return std::move(*result);
}

constexpr unsigned kRuns = 40;
constexpr double kAgainst = 0.98;

TEST(MeasureRounds, TellsFivePercentFromTwo) {
  unsigned below = 0;
  for (unsigned seed = 1; seed <= kRuns; ++seed)
    below += measured(1 / 1.05, seed, kAgainst).ratio.is_below(kAgainst) ? 1 : 0;
  EXPECT_GE(below, kRuns * 19 / 20);
}

TEST(MeasureRounds, RaisesNoAlarmAboutEqualModels) {
  unsigned below = 0, above = 0;
  for (unsigned seed = 1; seed <= kRuns; ++seed) {
    const PairMeasurement result = measured(1, seed, kAgainst);
    below += result.ratio.is_below(kAgainst) ? 1 : 0;
    above += result.ratio.is_above(kAgainst) ? 1 : 0;
  }
  EXPECT_EQ(below, 0u);
  EXPECT_GE(above, kRuns * 19 / 20);
}

TEST(MeasureRounds, TakesFewSamplesOfALargeDifference) {
  const auto measure = [](double ratio, unsigned seed) {
    Noisy noisy(ratio, seed);
    const MeasureOptions options{.seconds = 1e6, .precision = 0, .large = 1.5, .seed = seed};
    auto result =
        measure_rounds([&](const RoundPlan& plan) { return Outcome<Round>(noisy(plan)); }, options, 1);
    EXPECT_TRUE(result.ok());
    return std::move(*result);
  };
  unsigned covered = 0;
  for (unsigned seed = 1; seed <= kRuns; ++seed) {
    const PairMeasurement found = measure(2, seed);
    EXPECT_EQ(found.explored.size(), 2u);
    EXPECT_EQ(found.confirmed.size(), 4u);
    EXPECT_EQ(found.verdict, PairVerdict::Faster);
    covered += found.ratio.low <= 2 && found.ratio.high >= 2 ? 1 : 0;
  }
  EXPECT_GE(covered, kRuns * 17 / 20);
  EXPECT_EQ(measure(0.5, 1).explored.size(), 2u);
  EXPECT_GE(measure(1.2, 1).explored.size(), 4u);
}

// At exactly the ratio in question, every verdict is wrong.
TEST(MeasureRounds, IsSeldomSureAtTheRatioItself) {
  unsigned sure = 0;
  for (unsigned seed = 1; seed <= kRuns / 2; ++seed) {
    const Interval ratio = measured(kAgainst, seed, kAgainst).ratio;
    sure += ratio.is_above(kAgainst) || ratio.is_below(kAgainst) ? 1 : 0;
  }
  EXPECT_LE(sure, kRuns / 8);
}

TEST(MeasureRounds, ReportsFreshRoundsOnly) {
  const PairMeasurement result = measured(0.8, 1, kAgainst);
  EXPECT_FALSE(result.confirmed.empty());
  EXPECT_GE(result.confirmed.size(), result.explored.size());
  EXPECT_NEAR(result.ratio.estimate, 0.8, 0.02);
}

// Blocks of each round, of which each takes 30 ms.
std::vector<std::int64_t> blocks_within(double seconds) {
  Noisy noisy(1.2, 1);
  std::vector<std::int64_t> blocks;
  const auto slowly = [&](const RoundPlan& plan) {
    blocks.push_back(plan.fewest_blocks);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    return Outcome<Round>(noisy(plan));
  };
  EXPECT_TRUE(measure_rounds(slowly, {.seconds = seconds, .precision = 0, .confirm = false}, 1.2).ok());
  return blocks;
}

TEST(MeasureRounds, AreShortWhereFewFit) {
  EXPECT_EQ(blocks_within(0.02), (std::vector<std::int64_t>{1, 1}));
  const auto many = blocks_within(1);
  EXPECT_GT(many.size(), 4u);
  EXPECT_EQ(many[0], 1);
  EXPECT_EQ(many[1], 3);
}

}  // namespace
}  // namespace isomer
