#include "optimizer/facts/constant_structure.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace isomer {
namespace {

constexpr std::int64_t kLeastElements = 16;
constexpr std::int64_t kLooks = 256;            // for zeros
constexpr std::int64_t kLeastZeros = 24;        // of these: two blocks have half of them
constexpr std::int64_t kMostSupport = 1 << 24;  // pairs of slices that are looked at

// Whether slice i of an axis of this extent is zero; `inner` is the distance to the next number.
bool is_zero(std::span<const float> numbers, std::int64_t extent, std::int64_t inner, std::int64_t i) {
  for (auto at = i * inner; at < static_cast<std::int64_t>(numbers.size()); at += extent * inner) {
    const auto from = numbers.begin() + at;
    if (std::any_of(from, from + inner, [](float v) { return v != 0; })) return false;
  }
  return true;
}

}  // namespace

bool Selection::is_plain() const {
  return std::ranges::all_of(scale, [](float s) { return s == 1; });
}

std::optional<ConstantStructure> ConstantStructure::of(const Tensor& tensor) {
  if (tensor.type() != ElementType::Float || tensor.count() < kLeastElements || tensor.rank() < 2)
    return std::nullopt;
  return ConstantStructure(tensor);
}

ConstantStructure::ConstantStructure(const Tensor& tensor)
    : tensor_(tensor), numbers_(tensor_.as<float>()), strides_(tensor.extents().size(), 1) {
  for (std::size_t k = strides_.size() - 1; k > 0; --k) strides_[k - 1] = strides_[k] * extent(k);
  // Looks that no period of the axes hides: a stride next to the golden section of the length.
  const std::int64_t count = tensor.count(), looks = std::min(count, kLooks);
  std::int64_t stride =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(0.6180339887 * static_cast<double>(count)));
  while (std::gcd(stride, count) != 1) ++stride;
  std::int64_t zeros = 0;
  for (std::int64_t i = 0; i < looks; ++i) zeros += at(i * stride % count) == 0 ? 1 : 0;
  has_zeros_ = zeros * kLooks >= kLeastZeros * looks;
  for (std::size_t k = 0; k < strides_.size(); ++k) axes_.push_back(slices(k));
}

bool ConstantStructure::has_any() const {
  if (has_zeros_ || (extents().size() == 4 && extent(1) == 1)) return true;
  for (std::size_t k = 0; k < axes_.size(); ++k)
    if (axes_[k] != SliceFacts{.begin = 0, .end = extent(k)}) return true;
  return false;
}

bool ConstantStructure::is_zero(std::size_t axis, std::int64_t i) const {
  return isomer::is_zero(numbers_, extent(axis), strides_[axis], i);
}

std::vector<bool> zero_slices(const Tensor& tensor, std::size_t axis) {
  const std::int64_t size = tensor.extents()[axis];
  std::vector<bool> out(static_cast<std::size_t>(size), false);
  if (tensor.type() != ElementType::Float || tensor.count() == 0) return out;
  std::int64_t inner = 1;
  for (std::size_t d = axis + 1; d < tensor.extents().size(); ++d) inner *= tensor.extents()[d];
  for (std::int64_t i = 0; i < size; ++i)
    out[static_cast<std::size_t>(i)] = is_zero(tensor.as<float>(), size, inner, i);
  return out;
}

bool ConstantStructure::is_equal(std::size_t axis, std::int64_t a, std::int64_t b) const {
  const std::int64_t inner = strides_[axis], outer = tensor_.count() / (inner * extent(axis));
  for (std::int64_t o = 0; o < outer; ++o) {
    const auto left = numbers_.begin() + (o * extent(axis) + a) * inner;
    const auto right = numbers_.begin() + (o * extent(axis) + b) * inner;
    if (!std::equal(left, left + inner, right)) return false;
  }
  return true;
}

SliceFacts ConstantStructure::slices(std::size_t axis) const {
  const std::int64_t n = extent(axis);
  SliceFacts out{.begin = 0, .end = n};
  if (n < 2) return out;
  while (out.end > 0 && is_zero(axis, out.end - 1)) --out.end;
  while (out.begin < out.end && is_zero(axis, out.begin)) ++out.begin;
  if (out.begin == out.end) return out;
  std::int64_t step = 0;
  for (std::int64_t i = out.begin + 1; i < out.end && step != 1; ++i)
    if (!is_zero(axis, i)) step = std::gcd(step, i - out.begin);
  out.step = std::max<std::int64_t>(step, 1);
  // All zero between two slices, or one slice alone: nothing repeats that zeros don't say better.
  if (out.end - out.begin < n) return out;
  for (std::int64_t unit = 1; unit <= n / 2; ++unit) {
    if (n % unit != 0 || !is_equal(axis, 0, unit)) continue;
    std::int64_t times = 2;
    while (times * unit < n && is_equal(axis, 0, times * unit)) ++times;
    if (n % (times * unit) != 0) continue;
    bool holds = true;
    for (std::int64_t i = unit; i < n && holds; ++i)
      holds = i / unit % times == 0 || is_equal(axis, i - unit, i);
    if (!holds) continue;
    out.times = times;
    out.unit = unit;
    break;
  }
  return out;
}

std::vector<bool> ConstantStructure::support(std::size_t a, std::size_t b) const {
  std::vector<bool> out(static_cast<std::size_t>(extent(a) * extent(b)), false);
  const std::int64_t n = extent(b);
  for (std::int64_t i = 0; i < tensor_.count(); ++i)
    if (at(i) != 0)
      out[static_cast<std::size_t>(i / strides_[a] % extent(a) * n + i / strides_[b] % n)] = true;
  return out;
}

Blocks ConstantStructure::blocks(std::size_t a, std::size_t b) const {
  Blocks out;
  const std::int64_t m = extent(a), n = extent(b);
  if (!has_zeros_ || m * n > kMostSupport || std::gcd(m, n) < 2) return out;
  const std::vector<bool> used = support(a, b);
  const auto holds = [&](const Blocks& s) {
    const auto class_of = [&](std::int64_t i, std::int64_t size, bool inner) {
      return inner ? i % s.count : i / (size / s.count);
    };
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        if (used[static_cast<std::size_t>(i * n + j)] &&
            class_of(i, m, s.a_inner) != class_of(j, n, s.b_inner))
          return false;
    return true;
  };
  const std::int64_t most = std::gcd(m, n);
  for (const auto& [a_inner, b_inner] : {std::pair(false, false), {true, true}, {false, true}, {true, false}})
    for (std::int64_t g = most; g > out.count; --g)
      if (most % g == 0 && holds({g, a_inner, b_inner})) out = {g, a_inner, b_inner};
  return out;
}

std::optional<Selection> ConstantStructure::selection(std::size_t k, std::size_t n) const {
  if (!has_zeros_ || extent(k) * extent(n) != tensor_.count()) return std::nullopt;
  Selection out{std::vector<std::int64_t>(static_cast<std::size_t>(extent(n)), -1), {}};
  out.scale.resize(out.from.size());
  for (std::int64_t i = 0; i < extent(k); ++i)
    for (std::int64_t j = 0; j < extent(n); ++j) {
      const float v = at(i * strides_[k] + j * strides_[n]);
      if (v == 0) continue;
      const auto column = static_cast<std::size_t>(j);
      if (out.from[column] >= 0) return std::nullopt;
      out.from[column] = i;
      out.scale[column] = v;
    }
  if (std::ranges::count(out.from, -1) > 0) return std::nullopt;
  return out;
}

bool ConstantStructure::is_running_sum(std::size_t a, std::size_t b) const {
  if (!has_zeros_ || extent(a) != extent(b) || extent(a) * extent(b) != tensor_.count()) return false;
  for (std::int64_t i = 0; i < extent(a); ++i)
    for (std::int64_t j = 0; j < extent(b); ++j)
      if (at(i * strides_[a] + j * strides_[b]) != (i <= j ? 1.0F : 0.0F)) return false;
  return true;
}

bool ConstantStructure::has_equal_blocks(std::size_t a, std::size_t b, const Blocks& blocks) const {
  const std::int64_t g = blocks.count, m = extent(a) / g, n = extent(b) / g;
  const auto place = [&](std::int64_t block, std::int64_t within, std::int64_t size, bool inner) {
    return inner ? within * g + block : block * size + within;
  };
  for (std::int64_t block = 1; block < g; ++block)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        const auto number = [&](std::int64_t k) {
          return at(place(k, i, m, blocks.a_inner) * strides_[a] +
                    place(k, j, n, blocks.b_inner) * strides_[b]);
        };
        if (number(block) != number(0)) return false;
      }
  return true;
}

std::optional<ConstantStructure::Band> ConstantStructure::band(std::size_t a, std::size_t b) const {
  const std::int64_t m = extent(a), n = extent(b);
  if (!has_zeros_ || m * n != tensor_.count()) return std::nullopt;
  const auto number = [&](std::int64_t i, std::int64_t j) { return at(i * strides_[a] + j * strides_[b]); };
  std::int64_t low = m, high = -n;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      if (i > 0 && j > 0 && number(i, j) != number(i - 1, j - 1)) return std::nullopt;
      if (number(i, j) == 0) continue;
      low = std::min(low, i - j);
      high = std::max(high, i - j);
    }
  Band out{.first = low, .taps = {}};
  for (std::int64_t d = low; d <= high; ++d) out.taps.push_back(d >= 0 ? number(d, 0) : number(0, -d));
  return out.taps.empty() ? std::nullopt : std::optional(std::move(out));
}

namespace {

struct Factors {
  std::vector<float> column, row;
};

// To the last digit: what was rounded is no product.
bool is_product(std::span<const float> matrix, const Factors& f) {
  for (std::size_t i = 0; i < f.column.size(); ++i)
    for (std::size_t j = 0; j < f.row.size(); ++j)
      if (static_cast<double>(f.column[i]) * f.row[j] != matrix[i * f.row.size() + j]) return false;
  return true;
}

// The numbers divided by all that they have in common, as integers: of 3/64, 9/64, 3/64 that is 1, 3, 1.
std::optional<std::vector<float>> without_common_factor(std::span<const float> numbers) {
  constexpr int kDigits = 24, kMostSpread = 36;  // of a float; of exponents, so that int64 has all digits
  int low = 0, high = 0;
  bool is_first = true;
  for (const float v : numbers) {
    if (v == 0) continue;
    const int exponent = std::ilogb(v);
    low = is_first ? exponent : std::min(low, exponent);
    high = is_first ? exponent : std::max(high, exponent);
    is_first = false;
  }
  if (is_first || high - low > kMostSpread) return std::nullopt;
  std::int64_t common = 0;
  std::vector<std::int64_t> whole;
  for (const float v : numbers) {
    whole.push_back(static_cast<std::int64_t>(std::ldexp(static_cast<double>(v), kDigits - 1 - low)));
    common = std::gcd(common, whole.back());
  }
  std::vector<float> out;
  for (const std::int64_t v : whole) {
    const std::int64_t part = v / common;  // exact
    out.push_back(static_cast<float>(part));
  }
  return out;
}

// A row without its common factor, and the multiples of it.
std::optional<Factors> factors_of(std::span<const float> matrix, std::size_t h, std::size_t w) {
  const auto pivot = std::ranges::max_element(matrix, {}, [](float v) { return std::abs(v); });
  if (*pivot == 0 || !std::isfinite(*pivot)) return std::nullopt;
  const auto where = static_cast<std::size_t>(pivot - matrix.begin());
  const auto row = without_common_factor(matrix.subspan(where / w * w, w));
  if (!row) return std::nullopt;
  Factors out{.column = {}, .row = *row};
  for (std::size_t i = 0; i < h; ++i) out.column.push_back(matrix[i * w + where % w] / out.row[where % w]);
  return is_product(matrix, out) ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace

std::optional<ConstantStructure::Product> ConstantStructure::product() const {
  const std::size_t rank = strides_.size();
  const auto h = static_cast<std::size_t>(extent(rank - 2)), w = static_cast<std::size_t>(extent(rank - 1));
  if (h < 2 || w < 2) return std::nullopt;
  std::vector<float> columns, rows;
  for (std::size_t m = 0; m < numbers_.size(); m += h * w) {
    const auto factors = factors_of(numbers_.subspan(m, h * w), h, w);
    if (!factors) return std::nullopt;
    columns.insert(columns.end(), factors->column.begin(), factors->column.end());
    rows.insert(rows.end(), factors->row.begin(), factors->row.end());
  }
  Extents tall = extents(), wide = extents();
  tall[rank - 1] = wide[rank - 2] = 1;
  return Product{Tensor::of(ElementType::Float, tall, columns), Tensor::of(ElementType::Float, wide, rows)};
}

}  // namespace isomer
