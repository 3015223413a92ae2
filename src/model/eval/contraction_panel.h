// Packed panels of a contraction's operands, with their zero parts.
//
// Internal to Contraction. The constants of a linear region are computed from its response to impulses:
// operands of which nearly all elements are zero. Depths at which a whole panel is zero are left out of the
// product, in the same order and by the same kernel as all others, where that changes no bit.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "model/eval/contraction.h"
#include "model/eval/contraction_kernel.h"

namespace isomer {

// The least and the largest of each guarded coordinate, over a block of the depth.
struct GuardRange {
  std::int64_t least = 0, most = 0;
};
inline std::vector<GuardRange> guard_ranges(const ContractionOperand& operand, std::int64_t depth_first,
                                            std::int64_t depth) {
  const std::size_t guards = operand.guard_extents.size();
  std::vector<GuardRange> out(guards);
  for (std::size_t g = 0; g < guards; ++g)
    for (std::int64_t k = 0; k < depth; ++k) {
      const std::int64_t at = operand.depth.guarded[static_cast<std::size_t>(depth_first + k) * guards + g];
      out[g] =
          k == 0 ? GuardRange{at, at} : GuardRange{std::min(out[g].least, at), std::max(out[g].most, at)};
    }
  return out;
}

// Panels of kWidth rows (or columns) of one block of the operand, packed depth-major; what lies outside is
// zero.
template <int kWidth, class T>
void pack(const ContractionOperand& operand, const T* data, std::int64_t batch, std::int64_t first,
          std::int64_t count, std::int64_t depth_first, std::int64_t depth, T* out) {
  const std::size_t guards = operand.guard_extents.size();
  const std::int64_t base = operand.batch.offsets[static_cast<std::size_t>(batch)];
  const std::int64_t* batch_guard = operand.batch.guarded.data() + static_cast<std::size_t>(batch) * guards;
  const std::vector<GuardRange> ranges = guard_ranges(operand, depth_first, depth);
  for (std::int64_t panel = 0; panel < count; panel += kWidth, out += depth * kWidth) {
    for (int r = 0; r < kWidth; ++r) {
      if (panel + r >= count) {
        for (std::int64_t k = 0; k < depth; ++k) out[k * kWidth + r] = T{};
        continue;
      }
      const auto own = static_cast<std::size_t>(first + panel + r);
      const std::int64_t start = base + operand.own.offsets[own];
      const std::int64_t* depth_offset = operand.depth.offsets.data() + depth_first;
      const std::int64_t* own_guard = operand.own.guarded.data() + own * guards;
      bool is_inside = true;  // whatever the depth
      for (std::size_t g = 0; g < guards; ++g) {
        const std::int64_t at = batch_guard[g] + own_guard[g];
        is_inside = is_inside && at + ranges[g].least >= 0 && at + ranges[g].most < operand.guard_extents[g];
      }
      if (is_inside) {
        for (std::int64_t k = 0; k < depth; ++k) out[k * kWidth + r] = data[start + depth_offset[k]];
        continue;
      }
      const std::int64_t* depth_guard =
          operand.depth.guarded.data() + static_cast<std::size_t>(depth_first) * guards;
      for (std::int64_t k = 0; k < depth; ++k) {
        bool inside = true;
        for (std::size_t g = 0; g < guards; ++g) {
          const std::int64_t at =
              batch_guard[g] + own_guard[g] + depth_guard[static_cast<std::size_t>(k) * guards + g];
          inside =
              inside && static_cast<std::uint64_t>(at) < static_cast<std::uint64_t>(operand.guard_extents[g]);
        }
        out[k * kWidth + r] = inside ? data[start + depth_offset[k]] : T{};
      }
    }
  }
}

template <class T>
constexpr bool kTellsZero = std::is_arithmetic_v<T> || std::is_same_v<T, Zp>;

// Known facts about a packed panel.
struct Panel {
  // The used part is copied for each product: at most a quarter of the depth, an eighth of a whole block's.
  static constexpr int kMostUsed = 32, kLeastSaved = 4;

  int used_count = 0;                                // depths that are not all zero; more: kMostUsed + 1
  std::array<std::int32_t, kMostUsed> used_at = {};  // in their order
  bool is_finite = true;                             // zero times what is not finite is not zero

  bool is_zero() const { return used_count == 0; }
  bool is_sparse() const { return used_count <= kMostUsed; }

  // Without `asks_finite`, assume it is not finite.
  template <int kWidth, class T>
  void look(const T* values, std::int64_t depth, bool asks_finite) {
    find_used<kWidth>(values, depth);
    is_finite = asks_finite;
    if (!asks_finite || !std::is_floating_point_v<T>) return;
    if (!is_sparse()) is_finite = all_finite(values, depth * kWidth);
    else  // zeros are
      for (int n = 0; n < used_count && is_finite; ++n)
        is_finite = all_finite(values + std::int64_t{used_at[static_cast<std::size_t>(n)]} * kWidth, kWidth);
  }

 private:
  // No way out before the end: loops that the compiler vectorises.
  template <class T>
  static bool all_finite(const T* values, std::int64_t count) {
    bool out = true;
    if constexpr (std::is_floating_point_v<T>)
      for (std::int64_t i = 0; i < count; ++i) out &= std::abs(values[i]) <= std::numeric_limits<T>::max();
    return out;
  }
  template <int kWidth, class T>
  static bool any_number(const T* values) {
    bool out = false;
    for (int i = 0; i < kWidth; ++i) out |= !(values[i] == T{});
    return out;
  }

  template <int kWidth, class T>
  void find_used(const T* values, std::int64_t depth) {
    constexpr int kTooMany = kMostUsed + 1;
    const auto most = static_cast<int>(std::min<std::int64_t>(kMostUsed, depth / kLeastSaved));
    used_count = kTooMany;
    if constexpr (kTellsZero<T>) {
      int count = 0;
      for (std::int64_t k = 0; k < depth; ++k) {
        if (!any_number<kWidth>(values + k * kWidth)) continue;
        if (count == most) return;
        used_at[static_cast<std::size_t>(count++)] = static_cast<std::int32_t>(k);
      }
      used_count = count;
    }
  }
};

// The one of two panels whose zeros can be left out of their product; nullptr: none.
inline const Panel* sparse_one(const Panel& a, const Panel& b) {
  const bool by_a = a.is_sparse() && b.is_finite, by_b = b.is_sparse() && a.is_finite;
  if (by_a && by_b) return a.used_count < b.used_count ? &a : &b;
  return by_a ? &a : by_b ? &b : nullptr;
}

template <class T>
bool has_minus_zero(const T* tile) {
  if constexpr (std::is_floating_point_v<T>)
    return std::any_of(tile, tile + TileShape<T>::kRows * TileShape<T>::kColumns,
                       [](T v) { return v == 0 && std::signbit(v); });
  else return false;
}

// The product of two panels over the depths that one of them uses. A sum begins with +0, and zeros that are
// added change it only if it is -0, as a tiny product that is rounded leaves it: then they are all
// multiplied.
template <class T>
void multiply_used(const T* a, const T* b, std::int64_t depth, const Panel& sparse, T* tile) {
  constexpr int kRows = TileShape<T>::kRows, kColumns = TileShape<T>::kColumns;
  std::array<T, Panel::kMostUsed * kRows> few_a;
  std::array<T, Panel::kMostUsed * kColumns> few_b;
  for (int n = 0; n < sparse.used_count; ++n) {
    const std::int64_t k = sparse.used_at[static_cast<std::size_t>(n)];
    std::copy_n(a + k * kRows, kRows, few_a.data() + n * kRows);
    std::copy_n(b + k * kColumns, kColumns, few_b.data() + n * kColumns);
  }
  multiply_tile<T>(few_a.data(), few_b.data(), sparse.used_count, tile);
  if (has_minus_zero<T>(tile)) multiply_tile<T>(a, b, depth, tile);
}

}  // namespace isomer
