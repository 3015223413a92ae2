#include "compiler/cover/choose_cover.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace isomer {
namespace {

std::vector<std::size_t> layers_of(const std::vector<SegmentTimes>& segments) {
  std::vector<std::size_t> layers;
  for (const SegmentTimes& s : segments) layers.push_back(s.layer);
  return layers;
}

double cost_of(const std::vector<SegmentTimes>& segments, const std::vector<bool>& ours) {
  double ns = 0;
  for (std::size_t k = 0; k < segments.size(); ++k) {
    const SegmentTimes& s = segments[k];
    ns += !ours[k] ? s.runtime_ns : s.ours_ns.value_or(std::numeric_limits<double>::infinity());
    if (k > 0 && ours[k] == ours[k - 1] && segments[k - 1].layer == s.layer)
      ns -= ours[k] ? s.saved_ours_ns : s.saved_runtime_ns;
  }
  return ns;
}

TEST(CheapestCover, TakesWhatIsFaster) {
  const std::vector<SegmentTimes> segments{{.ours_ns = 5, .runtime_ns = 9}, {.ours_ns = 9, .runtime_ns = 5}};
  const Cover cover = cheapest_cover(segments);
  EXPECT_EQ(cover.ours, (std::vector<bool>{true, false}));
  EXPECT_EQ(cover.ns, 10);
}

TEST(CheapestCover, DoesNotChangeEnginesForLessThanABorder) {
  const SegmentTimes slower{.ours_ns = 10, .runtime_ns = 9, .saved_ours_ns = 2, .saved_runtime_ns = 2},
      faster{.ours_ns = 5, .runtime_ns = 9, .saved_ours_ns = 2, .saved_runtime_ns = 2};
  EXPECT_EQ(cheapest_cover({faster, slower, faster}).ours, (std::vector<bool>{true, true, true}));
}

TEST(CheapestCover, LeavesWhatCannotBeCompiled) {
  const Cover cover = cheapest_cover({{.ours_ns = 1, .runtime_ns = 9},
                                      {.runtime_ns = 9, .saved_ours_ns = 50},
                                      {.ours_ns = 1, .runtime_ns = 9}});
  EXPECT_EQ(cover.ours, (std::vector<bool>{true, false, true}));
}

// What was measured as one operator counts, whatever its parts promise: then it is cut elsewhere.
TEST(CheapestCover, BelievesWhatWasMeasuredAsOne) {
  const SegmentTimes s{.ours_ns = 5, .runtime_ns = 6, .saved_ours_ns = 2, .saved_runtime_ns = 0};
  const std::vector<SegmentTimes> three{s, s, s};
  EXPECT_EQ(cheapest_cover(three).ns, 11);
  EXPECT_EQ(regions_of(cheapest_cover(three), layers_of(three)).size(), 1u);
  const Cover slow = cheapest_cover(three, {{.first = 0, .count = 3, .ours_ns = 20}});
  EXPECT_EQ(slow.ns, 13);  // two and one
  EXPECT_EQ(regions_of(slow, layers_of(three)).size(), 2u);
  const Cover fast = cheapest_cover(three, {{.first = 0, .count = 3, .ours_ns = 20},
                                            {.first = 0, .count = 2, .ours_ns = 12},
                                            {.first = 1, .count = 2, .ours_ns = 4}});
  EXPECT_EQ(fast.ns, 9);
  const auto regions = regions_of(fast, layers_of(three));
  ASSERT_EQ(regions.size(), 2u);
  EXPECT_EQ(regions[1].first, 1u);
  EXPECT_EQ(regions[1].count, 2u);
}

TEST(CheapestCover, IsAsGoodAsTheBestOfAll) {
  std::mt19937 random(7);
  const auto draw = [&](int most) { return static_cast<double>(random() % static_cast<unsigned>(most)); };
  for (int k = 0; k < 300; ++k) {
    std::vector<SegmentTimes> segments(1 + random() % 9);
    std::size_t layer = 0;
    for (SegmentTimes& s : segments) {
      layer += random() % 4 == 0 ? 1 : 0;
      s = {.layer = layer, .runtime_ns = draw(100), .saved_ours_ns = draw(30), .saved_runtime_ns = draw(30)};
      if (random() % 5 != 0) s.ours_ns = draw(100);
    }
    double best = std::numeric_limits<double>::infinity();
    for (unsigned choice = 0; choice < 1U << segments.size(); ++choice) {
      std::vector<bool> ours;
      for (std::size_t s = 0; s < segments.size(); ++s) ours.push_back((choice >> s & 1) != 0);
      best = std::min(best, cost_of(segments, ours));
    }
    const Cover cover = cheapest_cover(segments);
    EXPECT_EQ(cover.ns, best);
    EXPECT_EQ(cost_of(segments, cover.ours), best);
  }
}

TEST(RegionsOf, JoinsNeighboursOfOneLayer) {
  const std::vector<SegmentTimes> segments{
      {.layer = 0}, {.layer = 0}, {.layer = 1}, {.layer = 1}, {.layer = 1}};
  const auto regions = regions_of({.ours = {true, true, true, false, true}}, layers_of(segments));
  ASSERT_EQ(regions.size(), 3u);
  EXPECT_EQ(regions[0].count, 2u);
  EXPECT_EQ(regions[1].first, 2u);
  EXPECT_EQ(regions[2].first, 4u);
}

}  // namespace
}  // namespace isomer
