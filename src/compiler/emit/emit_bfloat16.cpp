#include "compiler/emit/emit_bfloat16.h"

#include <fmt/format.h>

#include "compiler/schedule/bfloat16.h"

namespace isomer::lower {

std::string tile_rows_kind(const Plan& plan, const Tile& tile) {
  return is_paired(plan.buffer(tile.right)) ? "IM_PAIRS" : fmt::format("{}", tile.width);
}

std::optional<PairedTileText> PairedTileText::of(const Plan& plan, const Tile& tile) {
  if (!is_paired(plan.buffer(tile.right))) return std::nullopt;
  PairedTileText out;
  out.width_ = tile.width;
  const bool is_one_row = tile.outer_rows.empty() && tile.rows.extent.is(1);
  if (is_one_row) return out;
  out.halves_ = kPairedRows * paired_depth(tile.depth.extent.concrete());
  for (const Axis& a : tile.outer) out.halves_ *= a.extent.concrete();
  return out;
}

std::string PairedTileText::memory() const {
  if (halves_ == 0) return "";
  return fmt::format("uint16_t half[IM_HALVES({})] __attribute__((aligned(64)));", halves_);
}

std::vector<std::string> PairedTileText::round_rows() const {
  if (halves_ == 0) return {};
  return {"IM_TILES;", "im_left_pairs(left, rows, half);"};
}

std::string PairedTileText::call(std::int64_t columns, const std::string& panel,
                                 const std::string& end) const {
  return fmt::format("im_tile_pairs<{}, {}>(rows, left, {}, {}, tile{});", width_, columns,
                     halves_ > 0 ? "half" : "nullptr", panel, end);
}

}  // namespace isomer::lower
