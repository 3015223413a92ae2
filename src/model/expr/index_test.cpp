#include "model/expr/index.h"

#include <gtest/gtest.h>

namespace isomer {
namespace {

Axis axis(int id, const Dim& extent) { return {.id = id, .extent = extent}; }

TEST(Index, SimplifiesWithTheAxesRanges) {
  const Index i = axis(0, 8), j = axis(1, 56);
  EXPECT_EQ(Index::floor(Dim(56) * i + j, 56), i);
  EXPECT_EQ(Index::mod(Dim(56) * i + j, 56), j);
  EXPECT_EQ(Index::floor(j, 56), Index(0));
  EXPECT_EQ(Index::floor(j + Index(56), 56), Index(1));
  EXPECT_EQ(Index::floor(Index::floor(j, 4), 2), Index::floor(j, 8));
  EXPECT_FALSE(Index::mod(j, 8).is_constant());
}

TEST(Index, SplitsASymbolicMergedAxisAgain) {
  const Dim batch = Dim::symbol("batch"), length = Dim::symbol("length");
  const Index b = axis(0, batch), s = axis(1, length), h = axis(2, 64);
  const Index merged = linearize({b, s, h}, {batch, length, 64});
  const auto back = delinearize(merged, {batch * length, 64});
  EXPECT_EQ(back[1], h);
  EXPECT_EQ(back[0], length * b + s);
  const auto apart = delinearize(merged, {batch, length, 64});
  EXPECT_EQ(apart, (std::vector<Index>{b, s, h}));
}

TEST(Index, PutsQuotientAndRemainderTogether) {
  const Index l = axis(0, 24 * 7);
  const Dims shape{7, 3, 2, 4};
  EXPECT_EQ(linearize(delinearize(l, shape), shape), l);
}

TEST(Index, KnowsWhenItStaysInside) {
  const Index i = axis(0, 10), k = axis(1, 3);
  EXPECT_TRUE((i + k).is_inside(12));
  EXPECT_FALSE((i + k).is_inside(11));
  EXPECT_FALSE((i + k - Index(1)).is_inside(12));
  const Dim n = Dim::symbol("n");
  EXPECT_TRUE(Index(axis(2, n)).is_inside(n));
  EXPECT_FALSE((Index(axis(2, n)) + Index(1)).is_inside(n));
}

}  // namespace
}  // namespace isomer
