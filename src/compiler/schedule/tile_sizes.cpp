#include "compiler/schedule/tile_sizes.h"

#include <algorithm>

namespace isomer::lower {
namespace {

constexpr std::int64_t kBlockBytes = std::int64_t{384}
                                     << 10;  // of the left factor, which should stay in the second cache
constexpr std::int64_t kPiecesBytes = std::int64_t{2048} << 10;  // of a left factor that goes piece by piece
constexpr std::int64_t kPanelBytes = std::int64_t{32} << 10, kSumBytes = std::int64_t{128} << 10;
constexpr std::int64_t kGroupBytes = std::int64_t{128} << 10, kMostPanels = 4;
constexpr std::int64_t kFewestWaiting = 28;  // rows of sums that wait: two tiles' height

std::int64_t panels_of(const Tile& tile, const Sizes& sizes) {
  return (sizes.usual(tile.columns) + tile.width - 1) / tile.width;
}

// The axis that a block divides.
const Axis& blocked_axis(const Tile& tile) {
  return tile.outer_rows.empty() ? tile.rows : tile.outer_rows.back();
}
// The axis that pieces divide.
const Axis& outermost_depth(const Tile& tile) { return tile.outer.empty() ? tile.depth : tile.outer.front(); }

std::int64_t step_of(const Index& left, const Axis& axis, const Sizes& sizes) {
  return std::max<std::int64_t>(1, sizes.usual(stride(left, axis)));
}
// The size of each part, if they are about equal.
std::int64_t equal_parts(std::int64_t all, std::int64_t parts) { return (all + parts - 1) / parts; }

std::int64_t steps_of(const Tile& tile, const Sizes& sizes) {
  std::int64_t steps = sizes.usual(tile.depth);
  for (const Axis& a : tile.outer) steps *= sizes.usual(a);
  return steps;
}

// Whether it is known how many sums wait for the next piece, at most.
bool may_wait(const Tile& tile) {
  return outermost_depth(tile).extent.is_concrete() &&
         (tile.outer_rows.empty() || tile.rows.extent.is_concrete());
}

}  // namespace

std::int64_t panel_width(std::int64_t columns, std::int64_t rows) {
  if (columns <= 16) return 16;
  if (rows == 1) return columns >= 64 ? 64 : 32;
  if (columns % 32 == 0) return 32;
  // The last panel is as wide as what is left; one vector of it would wait for its left factor.
  const std::int64_t vectors = (columns + 15) / 16;
  return columns % 48 == 0 || (vectors % 2 == 1 && vectors % 3 != 1) ? 48 : 32;
}

void choose_block(Tile& tile, const Index& left, const Sizes& sizes) {
  // The bytes that one more row brings into the cache; windows of neighbouring rows overlap.
  std::int64_t step = 4 * step_of(left, blocked_axis(tile), sizes);
  if (!tile.outer_rows.empty())
    step = std::min(step, 4 * 3 * sizes.usual(tile.rows) * step_of(left, tile.rows, sizes));
  tile.block = std::max<std::int64_t>(1, kBlockBytes / step);
  const std::int64_t all = sizes.usual(blocked_axis(tile));
  const std::int64_t blocks = std::max<std::int64_t>(1, (all + tile.block / 2) / tile.block);
  tile.block = equal_parts(all, blocks);
}

void choose_group(Tile& tile, const Sizes& sizes) {
  const std::int64_t piece = std::min(4 * tile.width * steps_of(tile, sizes), kPanelBytes);
  tile.group =
      std::clamp<std::int64_t>(kGroupBytes / piece, 1, std::min(panels_of(tile, sizes), kMostPanels));
}

void choose_pieces(Tile& tile, const Index& left, const Sizes& sizes) {
  // Sums wait in memory of a known size.
  if (!may_wait(tile)) return;
  const std::int64_t all = sizes.usual(outermost_depth(tile));
  const std::int64_t step =
      4 * tile.width * steps_of(tile, sizes) / all;  // bytes of the panel for one step of it
  const std::int64_t chunk = std::max<std::int64_t>(1, kPanelBytes / step);
  if (all * step < 2 * kPanelBytes || chunk >= all) return;
  const bool has_outer = !tile.outer_rows.empty();
  const std::int64_t rows = sizes.usual(tile.rows);
  const std::int64_t row_bytes = 4 * tile.width * tile.group * (has_outer ? rows : 1);
  std::int64_t block = std::min(tile.block, kSumBytes / row_bytes);
  // Plain rows: equal blocks, and few, since each brings the panels anew.
  if (!has_outer) {
    const std::int64_t fit =
        std::min(kSumBytes / row_bytes, kPiecesBytes / (4 * step_of(left, tile.rows, sizes)));
    const std::int64_t most = std::max(kFewestWaiting, fit);
    block = equal_parts(rows, (rows + most - 1) / most);
  }
  if (block < 1 || block * (has_outer ? rows : 1) < kFewestWaiting) return;
  tile.block = block;
  tile.chunk = equal_parts(all, (all + chunk - 1) / chunk);
}

void take_sizes(Tile& tile, const TileRequest& request, const Sizes& sizes) {
  if (request.block > 0) tile.block = std::min(request.block, sizes.usual(blocked_axis(tile)));
  if (request.group > 0) tile.group = std::min(request.group, panels_of(tile, sizes));
  if (request.pieces && may_wait(tile))
    tile.chunk = *request.pieces < sizes.usual(outermost_depth(tile)) ? *request.pieces : 0;
}

}  // namespace isomer::lower
