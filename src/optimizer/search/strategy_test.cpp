#include "optimizer/search/strategy.h"

#include <gtest/gtest.h>

#include "model/graph/testing.h"

namespace isomer {
namespace {

// States are numbers, named by their cost: the path from 10 to 2 leads over 11; a search that never accepts a
// loss ends at 8.
class Hills : public StateSpace {
 public:
  std::vector<State> expand(const State& state, double most) override {
    ++expanded;
    std::vector<State> out;
    for (const double next : ways.at(state.cost))
      if (next < most) out.push_back({.draft = {}, .cost = next});
    return out;
  }
  std::string key(const State& state) const override { return std::to_string(state.cost); }
  bool is_over() override { return false; }

  std::map<double, std::vector<double>> ways{{10, {8, 11}}, {8, {10}}, {11, {10, 2}}, {2, {11}}};
  int expanded = 0;
};

double best(Hills& hills, const std::string& strategy) {
  return explore(hills, {.draft = {}, .cost = 10}, *parse_strategy(strategy))[0].cost;
}

TEST(Strategy, BacktrackingFindsWhatLiesBehindALoss) {
  Hills hills;
  EXPECT_EQ(best(hills, "backtrack:1"), 8);
  EXPECT_EQ(best(hills, "backtrack:1.05"), 8);
  EXPECT_EQ(best(hills, "backtrack:1.5"), 2);
}

TEST(Strategy, NoStateIsExpandedTwice) {
  Hills hills;
  best(hills, "backtrack:9");
  EXPECT_EQ(hills.expanded, 4);
}

TEST(Strategy, RefusesNumbersThatMeanNothing) {
  for (const char* text :
       {"", "greed", "backtrack", "backtrack:", "backtrack:0.5", "backtrack:1x", "saturate:", "saturate:4"})
    EXPECT_FALSE(parse_strategy(text).ok()) << text;
}

TEST(Strategy, SaysThatBeamWasRemovedAndWhatToUse) {
  const auto refused = parse_strategy("beam:16");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message,
            "--strategy beam:16: beam was removed, since backtrack finds as much in less time; use "
            "backtrack:1.05");
}

}  // namespace
}  // namespace isomer
