#include "optimizer/facts/constant_structure.h"

#include <gtest/gtest.h>

#include <functional>

namespace isomer {
namespace {

Tensor matrix(std::int64_t rows, std::int64_t columns,
              const std::function<float(std::int64_t, std::int64_t)>& number) {
  std::vector<float> out;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) out.push_back(number(i, j));
  return Tensor::of(ElementType::Float, {rows, columns}, out);
}

// All different, none of them zero.
float dense(std::int64_t i, std::int64_t j) { return static_cast<float>(1 + i * 131 + j * 7 % 131); }

TEST(ConstantStructure, FindsNothingInDenseNumbers) {
  const auto s = ConstantStructure::of(matrix(12, 8, dense));
  ASSERT_TRUE(s);
  EXPECT_FALSE(s->has_any());
  EXPECT_EQ(s->blocks(0, 1).count, 1);
}

TEST(ConstantStructure, FindsZeroSlicesAtTheBorderAndBetween) {
  const auto s = ConstantStructure::of(
      matrix(9, 8, [](auto i, auto j) { return i % 2 == 1 && i < 6 && j >= 3 ? dense(i, j) : -0.0F; }));
  EXPECT_EQ(s->axis(0), (SliceFacts{.begin = 1, .end = 6, .step = 2}));
  EXPECT_EQ(s->axis(1), (SliceFacts{.begin = 3, .end = 8}));
}

TEST(ConstantStructure, FindsSlicesThatRepeat) {
  const auto s = ConstantStructure::of(matrix(6, 8, [](auto i, auto j) { return dense(i / 3, j % 4); }));
  EXPECT_EQ(s->axis(0), (SliceFacts{.begin = 0, .end = 6, .times = 3, .unit = 1}));
  EXPECT_EQ(s->axis(1), (SliceFacts{.begin = 0, .end = 8, .times = 2, .unit = 4}));
  const auto heads =
      ConstantStructure::of(matrix(4, 12, [](auto i, auto j) { return dense(i, j / 6 * 2 + j % 2); }));
  EXPECT_EQ(heads->axis(1), (SliceFacts{.begin = 0, .end = 12, .times = 3, .unit = 2}));
}

TEST(ConstantStructure, FindsBlocksOfRunsAndOfRemainders) {
  const auto runs = ConstantStructure::of(
      matrix(12, 8, [](auto i, auto j) { return i / 3 == j / 2 ? dense(i, j) : 0.0F; }));
  EXPECT_EQ(runs->blocks(0, 1).count, 4);
  EXPECT_FALSE(runs->has_equal_blocks(0, 1, runs->blocks(0, 1)));
  const auto dealt = ConstantStructure::of(
      matrix(12, 8, [](auto i, auto j) { return i % 4 == j % 4 ? dense(i / 4, j / 4) : 0.0F; }));
  const Blocks blocks = dealt->blocks(0, 1);
  EXPECT_EQ(blocks.count, 4);
  EXPECT_TRUE(blocks.a_inner && blocks.b_inner);
  EXPECT_TRUE(dealt->has_equal_blocks(0, 1, blocks));
}

TEST(ConstantStructure, FindsOneNumberPerColumn) {
  const auto s = ConstantStructure::of(
      matrix(8, 5, [](auto i, auto j) { return i == (3 * j + 1) % 8 ? static_cast<float>(j + 1) : 0.0F; }));
  const auto selection = s->selection(0, 1);
  ASSERT_TRUE(selection);
  EXPECT_EQ(selection->from, (std::vector<std::int64_t>{1, 4, 7, 2, 5}));
  EXPECT_FALSE(selection->is_plain());
  EXPECT_FALSE(s->selection(1, 0));
}

TEST(ConstantStructure, FindsBandsAndRunningSums) {
  const auto band = ConstantStructure::of(matrix(10, 8, [](auto i, auto j) {
                      return i - j >= 0 && i - j < 3 ? static_cast<float>(i - j + 1) : 0.0F;
                    }))->band(0, 1);
  ASSERT_TRUE(band);
  EXPECT_EQ(band->first, 0);
  EXPECT_EQ(band->taps, (std::vector<float>{1, 2, 3}));
  const auto sums = ConstantStructure::of(matrix(8, 8, [](auto i, auto j) { return i <= j ? 1.0F : 0.0F; }));
  EXPECT_TRUE(sums->is_running_sum(0, 1));
  EXPECT_FALSE(sums->is_running_sum(1, 0));
}

TEST(ConstantStructure, FindsProductsThatNothingWasRoundedOf) {
  const auto product_of = [](const std::vector<float>& g) {
    const auto at = [&](std::int64_t i) { return g[static_cast<std::size_t>(i)]; };
    return ConstantStructure::of(matrix(4, 4, [&](auto i, auto j) { return at(i) * at(j); }))->product();
  };
  const auto blur = product_of({0.125F, 0.375F, 0.375F, 0.125F});
  ASSERT_TRUE(blur);
  EXPECT_EQ(blur->column.extents(), (Extents{4, 1}));
  EXPECT_FALSE(product_of({0.05448868F, 0.24420135F, 0.40261996F, 0.24420135F}));
  EXPECT_FALSE(ConstantStructure::of(matrix(5, 5, dense))->product());
}

TEST(ConstantStructure, ZeroSlicesAnywhere) {
  const Tensor w =
      Tensor::of(ElementType::Float, {3, 2, 2}, std::vector<float>{1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 3, 0});
  EXPECT_EQ(zero_slices(w, 0), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(zero_slices(w, 1), (std::vector<bool>{false, false}));
  EXPECT_EQ(zero_slices(w, 2), (std::vector<bool>{false, true}));
}

}  // namespace
}  // namespace isomer
