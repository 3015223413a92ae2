#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "base/integer_program.h"
#include "compiler/schedule/layout.h"

namespace isomer::lower {
namespace {

bool lie_apart(const std::vector<Block>& blocks, const std::vector<std::int64_t>& places) {
  for (std::size_t a = 0; a < blocks.size(); ++a)
    for (std::size_t b = a + 1; b < blocks.size(); ++b)
      if (blocks[a].lives_with(blocks[b]) && places[a] < places[b] + blocks[b].bytes &&
          places[b] < places[a] + blocks[a].bytes)
        return false;
  return true;
}

// The least peak of all plans: each is some order of blocks, each of which goes as low as it can.
std::int64_t best_of_all(const std::vector<Block>& blocks) {
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::int64_t best = INT64_MAX;
  do {
    std::vector<std::int64_t> places(blocks.size(), 0);
    for (std::size_t k = 0; k < order.size(); ++k)
      for (std::size_t j = 0; j < k; ++j)
        if (blocks[order[j]].lives_with(blocks[order[k]]))
          places[order[k]] = std::max(places[order[k]], places[order[j]] + blocks[order[j]].bytes);
    best = std::min(best, peak(blocks, places));
  } while (std::ranges::next_permutation(order).found);
  return best;
}

// Blocks of which large ones first is not the best.
const std::vector<std::vector<Block>> kAwkward{
    {{4, 1, 3}, {4, 1, 4}, {2, 0, 3}, {5, 4, 7}, {1, 2, 4}},
    {{4, 4, 7}, {6, 2, 3}, {4, 4, 5}, {3, 4, 4}, {6, 3, 6}, {4, 2, 2}},
    {{2, 0, 0}, {1, 0, 3}, {3, 3, 5}, {2, 3, 4}, {6, 1, 1}, {1, 3, 4}, {6, 4, 4}}};

TEST(PlaceBuffers, GreedyPlansLieApartAndNoneIsBelowWhatLivesTogether) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<Block> blocks(2 + random() % 12);
    for (Block& b : blocks) {
      b.bytes = static_cast<std::int64_t>(64 * (1 + random() % 9));
      b.first = random() % 10;
      b.last = b.first + random() % 4;
    }
    const auto places = placed_greedily(blocks);
    EXPECT_TRUE(lie_apart(blocks, places));
    EXPECT_GE(peak(blocks, places), least_peak(blocks));
  }
}

TEST(PlaceBuffers, ExactPlansAreTheBestOfAll) {
  if (!has_integer_solver()) GTEST_SKIP() << "no solver";
  std::mt19937_64 random(6);
  for (int round = 0; round < 60; ++round) {
    std::vector<Block> blocks(3 + random() % 5);
    for (Block& b : blocks) {
      b.bytes = static_cast<std::int64_t>(64 * (1 + random() % 9));
      b.first = random() % 5;
      b.last = b.first + random() % 3;
    }
    const std::int64_t greedy = peak(blocks, placed_greedily(blocks));
    const auto exact = placed_exactly(blocks, greedy, 60);
    ASSERT_TRUE(exact);
    EXPECT_TRUE(lie_apart(blocks, *exact));
    EXPECT_EQ(peak(blocks, *exact), best_of_all(blocks));
  }
  for (const std::vector<Block>& blocks : kAwkward) {
    const std::int64_t greedy = peak(blocks, placed_greedily(blocks));
    const auto exact = placed_exactly(blocks, greedy, 60);
    ASSERT_TRUE(exact);
    EXPECT_TRUE(lie_apart(blocks, *exact));
    EXPECT_LT(peak(blocks, *exact), greedy);
    EXPECT_EQ(peak(blocks, *exact), best_of_all(blocks));
  }
}

}  // namespace
}  // namespace isomer::lower
