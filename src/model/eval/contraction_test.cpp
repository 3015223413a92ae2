#include "model/eval/contraction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>

#include "model/eval/contraction_kernel.h"
#include "model/expr/formula.h"
#include "model/expr/tensor.h"

namespace isomer {
namespace {

// Σ_k a[i, k] · b[k, j], or a convolution of images with a kernel of 3 × 3 that looks one beyond the edge.
Formula product(ElementType type, std::int64_t rows, std::int64_t depth, std::int64_t columns) {
  FormulaBuilder f({TensorType{type, {rows, depth}}, TensorType{type, {depth, columns}}});
  const auto a = f.input(0), b = f.input(1);
  const auto p = f.axes({rows, columns}), r = f.axes({depth});
  f.output(p, sum(r, a(p[0], r[0]) * b(r[0], p[1])));
  return std::move(f).finish();
}
Formula convolution(ElementType type, std::int64_t images, std::int64_t channels, std::int64_t size) {
  FormulaBuilder f(
      {TensorType{type, {images, channels, size, size}}, TensorType{type, {11, channels, 3, 3}}});
  const auto x = f.input(0), w = f.input(1);
  const auto p = f.axes({images, 11, size, size}), r = f.axes({channels, 3, 3});
  f.output(p,
           sum(r, x(p[0], r[0], Index(p[2]) + Index(r[1]) - Index(1), Index(p[3]) + Index(r[2]) - Index(1)) *
                      w(p[1], r[0], r[1], r[2])));
  return std::move(f).finish();
}

// Zeros are skipped, and multiplied: the same bits.
template <class T>
void expect_same_bits(const Formula& formula, const std::vector<T>& a, const std::vector<T>& b) {
  const auto contraction = Contraction::compile(formula.stages[0]);
  ASSERT_TRUE(contraction.has_value());
  const bool is_swapped = contraction->left().number == 1;
  const auto count = static_cast<std::size_t>(*element_count(*concrete(formula.stages[0].shape())));
  std::vector<T> skipped(count, T(7)), multiplied(count, T(8));
  const T *left = is_swapped ? b.data() : a.data(), *right = is_swapped ? a.data() : b.data();
  contraction->run(left, right, skipped.data());
  contraction->run(left, right, multiplied.data(), Contraction::Zeros::Multiplied);
  for (std::size_t i = 0; i < count; ++i)
    ASSERT_TRUE(std::ranges::equal(std::as_bytes(std::span(&skipped[i], 1)),
                                   std::as_bytes(std::span(&multiplied[i], 1))))
        << i << ": " << skipped[i] << ", " << multiplied[i];
}

template <class T>
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  std::vector<T> dense(std::int64_t count) {
    std::vector<T> out(static_cast<std::size_t>(count));
    for (T& v : out) v = number();
    return out;
  }
  // Nearly all zero; some of them negative.
  std::vector<T> sparse(std::int64_t count, int one_in) {
    std::vector<T> out(static_cast<std::size_t>(count));
    for (T& v : out)
      v = static_cast<int>(random_() % static_cast<std::uint64_t>(one_in)) == 0 ? number()
          : random_() % 4 == 0                                                  ? -T{}
                                                                                : T{};
    return out;
  }
  void put(std::vector<T>& in, T what, int times) {
    for (int i = 0; i < times; ++i) in[random_() % in.size()] = what;
  }

 private:
  T number() {
    if constexpr (std::is_floating_point_v<T>) return static_cast<T>(normal_(random_));
    else return static_cast<T>(random_());
  }
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
};

template <class T>
void check_products(ElementType type) {
  for (const auto& [rows, depth, columns] :
       {std::array{5, 1, 9}, {7, 300, 33}, {33, 600, 7}, {100, 517, 40}, {3, 40, 1100}}) {
    const Formula formula = product(type, rows, depth, columns);
    for (const int one_in : {2, 40, 900}) {
      Draw<T> draw(static_cast<std::uint64_t>(rows + one_in));
      expect_same_bits(formula, draw.sparse(rows * depth, one_in), draw.dense(depth * columns));
      expect_same_bits(formula, draw.dense(rows * depth), draw.sparse(depth * columns, one_in));
      expect_same_bits(formula, draw.sparse(rows * depth, one_in), draw.sparse(depth * columns, one_in));
    }
  }
}

template <class T>
void expect_same_bits_on_every_machine() {
  constexpr int kRows = TileShape<T>::kRows, kColumns = TileShape<T>::kColumns, kDepth = 257;
  std::vector<T> a(kRows * kDepth), b(kColumns * kDepth), wide(kRows * kColumns), narrow(kRows * kColumns);
  std::mt19937 draw(1);
  std::uniform_real_distribution<T> numbers(-1, 1);
  for (auto* list : {&a, &b})
    for (T& v : *list) v = numbers(draw);
  avx2::multiply_tile(a.data(), b.data(), kDepth, wide.data());
  baseline::multiply_tile(a.data(), b.data(), kDepth, narrow.data());
  EXPECT_EQ(wide, narrow);
}

TEST(Contraction, WideVectorsGiveTheBitsOfNarrowOnes) {
  if (!avx2::is_compiled_in() || !__builtin_cpu_supports("avx2")) GTEST_SKIP() << "this machine has no AVX2";
  expect_same_bits_on_every_machine<float>();
  expect_same_bits_on_every_machine<double>();
}

TEST(Contraction, SkippedZerosChangeNoBit) {
  check_products<double>(ElementType::Double);
  check_products<float>(ElementType::Float);
  check_products<std::int32_t>(ElementType::Int32);
}

TEST(Contraction, ZeroTimesWhatIsNotFiniteIsNotSkipped) {
  const Formula formula = product(ElementType::Double, 20, 600, 30);
  for (const double odd : {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN()}) {
    Draw<double> draw(3);
    std::vector<double> a = draw.dense(20L * 600), b = draw.sparse(600L * 30, 200);
    draw.put(a, odd, 3);
    expect_same_bits(formula, a, b);
    std::vector<double> c = draw.sparse(20L * 600, 200), d = draw.dense(600L * 30);
    draw.put(d, odd, 3);
    expect_same_bits(formula, c, d);
  }
  // And what that makes is not a number.
  const auto contraction = Contraction::compile(product(ElementType::Double, 1, 300, 8).stages[0]);
  std::vector<double> a(300, 1), b(300L * 8, 0), out(8);
  a[100] = std::numeric_limits<double>::infinity();
  b[8L * 3] = 2;
  contraction->run(a.data(), b.data(), out.data());
  for (const double v : out) EXPECT_TRUE(std::isnan(v));
}

// A product that is too small for a number may leave -0, which a zero that is added turns to +0.
TEST(Contraction, NegativeZerosStayWhatTheyWere) {
  for (const std::int64_t depth : {300L, 700L}) {
    const Formula formula = product(ElementType::Double, 13, depth, 19);
    Draw<double> draw(static_cast<std::uint64_t>(depth));
    for (int round = 0; round < 20; ++round) {
      std::vector<double> a = draw.sparse(13 * depth, 300), b = draw.dense(depth * 19);
      for (double& v : a) v *= 1e-200;
      for (double& v : b) v *= 1e-200;
      expect_same_bits(formula, a, b);
      std::vector<double> c = draw.dense(13 * depth), d = draw.sparse(depth * 19, 300);
      for (double& v : c) v *= 1e-200;
      for (double& v : d) v *= 1e-200;
      expect_same_bits(formula, c, d);
    }
  }
}

TEST(Contraction, ImpulsesThroughAConvolutionAreItsKernel) {
  constexpr std::int64_t kChannels = 40, kSize = 5;
  const Formula formula = convolution(ElementType::Double, kChannels, kChannels, kSize);
  std::vector<double> impulses(static_cast<std::size_t>(kChannels * kChannels * kSize * kSize), 0);
  for (std::int64_t c = 0; c < kChannels; ++c)
    impulses[static_cast<std::size_t>(((c * kChannels + c) * kSize + 2) * kSize + 2)] = 1;
  const std::vector<double> weights = Draw<double>(1).dense(11 * kChannels * 9);
  expect_same_bits(formula, impulses, weights);
  const auto contraction = Contraction::compile(formula.stages[0]);
  std::vector<double> out(static_cast<std::size_t>(kChannels * 11 * kSize * kSize));
  const bool is_swapped = contraction->left().number == 1;
  contraction->run(is_swapped ? weights.data() : impulses.data(),
                   is_swapped ? impulses.data() : weights.data(), out.data());
  for (std::int64_t c = 0; c < kChannels; ++c)
    for (std::int64_t o = 0; o < 11; ++o)
      for (std::int64_t y = 0; y < kSize; ++y)
        for (std::int64_t x = 0; x < kSize; ++x) {
          const bool is_seen = y >= 1 && y <= 3 && x >= 1 && x <= 3;
          EXPECT_EQ(out[static_cast<std::size_t>(((c * 11 + o) * kSize + y) * kSize + x)],
                    is_seen
                        ? weights[static_cast<std::size_t>((o * kChannels + c) * 9 + (3 - y) * 3 + (3 - x))]
                        : 0);
        }
}

}  // namespace
}  // namespace isomer
