#include "app/optimize/guard.h"

#include <gmock/gmock.h>

namespace isomer {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(WhyNotFaster, SaysTheRuleAndWhatWouldTakeIt) {
  const std::string why = why_not_faster({1.025, 1.014, 1.032}, 1.02);
  EXPECT_THAT(why, HasSubstr("2.5 % faster, but its 95 % interval of 1.4 % to 3.2 % does not exceed 2.0 %"));
  EXPECT_THAT(why, HasSubstr("--min-gain 1.013 would accept it"));
  EXPECT_THAT(why, HasSubstr("a longer --budget could decide"));
}

TEST(WhyNotFaster, ASmallGainThatIsSureNeedsNoLongerBudget) {
  const std::string why = why_not_faster({1.010, 1.008, 1.012}, 1.02);
  EXPECT_THAT(why, HasSubstr("1.0 % faster, less than the 2.0 % that a change must gain"));
  EXPECT_THAT(why, HasSubstr("--min-gain 1.007"));
  EXPECT_THAT(why, Not(HasSubstr("--budget")));
}

TEST(WhyNotFaster, WhatIsSlowerIsCalledSo) {
  const std::string why = why_not_faster({0.8, 0.79, 0.81}, 1.02);
  EXPECT_THAT(why, HasSubstr("slower, by 25.0 %"));
  EXPECT_THAT(why, Not(HasSubstr("--min-gain")));
}

TEST(AllowedBytes, AFactorThatWasGivenIsObeyedToTheByte) {
  OptimizeRequest request;
  EXPECT_EQ(allowed_bytes(request, 1000), 1000u + (16u << 20u));
  request.max_size_growth = 1.1;
  EXPECT_EQ(allowed_bytes(request, 1000), 1100u);
  request.max_size_growth = 0.5;
  EXPECT_EQ(allowed_bytes(request, 1000), 500u);
}

TEST(NoSlower, IsSureOfItOrNot) {
  const auto look = [](double low, double high) {
    Look made;
    made.time = PairMeasurement{};
    made.time->ratio = {(low + high) / 2, low, high};
    return made;
  };
  EXPECT_TRUE(Guard::is_no_slower(look(0.99, 1.01), 1.02));
  EXPECT_FALSE(Guard::is_no_slower(look(0.97, 1.03), 1.02));    // unknown
  EXPECT_FALSE(Guard::is_no_slower(look(0.985, 0.995), 1.02));  // a little slower, with 95 % confidence
  EXPECT_FALSE(Guard::is_no_slower(Look{}, 1.02));
}

}  // namespace
}  // namespace isomer
