#include "compiler/schedule/bfloat16.h"

#include <algorithm>

namespace isomer::lower {
namespace {

constexpr std::int64_t kGroupBytes = std::int64_t{1} << 20;   // of a group of panels
constexpr std::int64_t kRowsBytes = std::int64_t{512} << 10;  // of a rounded block of rows, on the stack
constexpr std::int64_t kShortest = 16;                        // depth: below, most of a tile were zeros
constexpr std::int64_t kWidest = 64;                          // four tile registers

// The widest of those that leave the fewest columns unused.
std::int64_t paired_width(std::int64_t columns) {
  if (columns <= kWidest) return (columns + 15) / 16 * 16;
  const auto all = [&](std::int64_t width) { return (columns + width - 1) / width * width; };
  return std::min({kWidest, std::int64_t{48}, std::int64_t{32}},
                  [&](std::int64_t a, std::int64_t b) { return all(a) < all(b); });
}

}  // namespace

bool is_paired(const Storage& packed) { return packed.type == ElementType::BFloat16; }

std::int64_t paired_depth(std::int64_t depth) { return (depth + 31) / 32 * 32; }

Dims paired_extents(Dims packed) {
  Dim& depth = packed[packed.size() - 2];
  depth = paired_depth(depth.concrete()) / 2;
  packed.push_back(2);
  return packed;
}

std::optional<PairedSizes> choose_pairs(const std::vector<Axis>& depth, std::int64_t step, bool is_one_row,
                                        std::int64_t columns) {
  const std::int64_t last = depth.back().extent.concrete();
  std::int64_t steps = paired_depth(last);
  for (std::size_t k = 0; k + 1 < depth.size(); ++k) steps *= depth[k].extent.concrete();
  if (step != 1 || last < kShortest || (!is_one_row && 2 * kPairedRows * steps > kRowsBytes))
    return std::nullopt;
  const std::int64_t width = paired_width(columns), panels = (columns + width - 1) / width;
  return PairedSizes{width, std::clamp<std::int64_t>(kGroupBytes / (2 * width * steps), 1, panels)};
}

Storage to_pairs(Storage packed) {
  const auto depth = static_cast<std::size_t>(packed.extents[packed.extents.size() - 2].concrete());
  const auto lanes = static_cast<std::size_t>(packed.extents.back().concrete());
  const bool has_value = packed.value.bytes().size > 0;
  packed.extents = paired_extents(packed.extents);
  packed.type = ElementType::BFloat16;
  packed.strides = row_major(packed.extents);
  packed.size = product(packed.extents);
  if (!has_value) return packed;
  const auto paired = static_cast<std::size_t>(paired_depth(static_cast<std::int64_t>(depth)));
  const auto values = packed.value.as<float>();
  std::vector<std::uint16_t> out(static_cast<std::size_t>(packed.size.concrete()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t lane = i % lanes, k = i / lanes % depth, panel = i / lanes / depth;
    out[((panel * paired / 2 + k / 2) * lanes + lane) * 2 + k % 2] = float_to_bfloat16(values[i]);
  }
  packed.value = Tensor::of(ElementType::BFloat16, concrete(packed.extents).value(), out);
  return packed;
}

std::optional<std::string> illegal_pairs(const Tile& tile, const Dim& step) {
  if (!step.is(1) || tile.chunk != 0 || tile.width % 16 != 0 || tile.width > kWidest)
    return "there is no tile for such pairs";
  return std::nullopt;
}

}  // namespace isomer::lower
