#include "compiler/tune/boosted_trees.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace isomer {
namespace {

struct Data {
  std::vector<std::vector<double>> rows;
  std::vector<double> values;
};
Data drawn(unsigned seed, std::size_t count) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> any(-1, 1);
  Data out;
  for (std::size_t k = 0; k < count; ++k) {
    const double a = any(random), b = any(random), noise = any(random);
    out.rows.push_back({noise, a, b});
    out.values.push_back((a > 0.2 ? 1.0 : -1.0) + (b < 0 ? 0.5 * b : 0));
  }
  return out;
}

TEST(BoostedTrees, LearnWhatTheyHaveNotSeen) {
  const Data seen = drawn(1, 400), other = drawn(2, 200);
  const BoostedTrees trees = BoostedTrees::fitted(seen.rows, seen.values, {});
  double error = 0, spread = 0;
  for (std::size_t k = 0; k < other.rows.size(); ++k) {
    error += std::abs(trees.predict(other.rows[k]) - other.values[k]);
    spread += std::abs(other.values[k]);
  }
  EXPECT_LT(error, 0.1 * spread);
}

TEST(BoostedTrees, AreText) {
  const Data seen = drawn(3, 100);
  const BoostedTrees trees = BoostedTrees::fitted(seen.rows, seen.values, {.trees = 10});
  const auto again = BoostedTrees::parse(trees.text());
  ASSERT_TRUE(again);
  for (const auto& row : seen.rows) EXPECT_DOUBLE_EQ(again->predict(row), trees.predict(row));
  EXPECT_EQ(BoostedTrees().predict({1, 2, 3}), 0);
}

TEST(BoostedTrees, AreNotBelieved) {
  for (const char* text : {"tree\nsplit 0 1 0 0\n", "tree\nsplit 0 1 1 7\nleaf 1\n", "tree\n", "leaf 1\n",
                           "base x\n", "tree\nsplit -2 1 1 2\nleaf 1\nleaf 2\n", "what\n"})
    EXPECT_FALSE(BoostedTrees::parse(text)) << text;
}

}  // namespace
}  // namespace isomer
