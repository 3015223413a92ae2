#include "compiler/emit/thread_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/emit/emit_bfloat16.h"

namespace isomer::lower {
namespace {

// Axes that have more than one position, as far as is known when the code is written.
std::vector<Axis> long_axes(const Nest& nest, const std::vector<Axis>& axes) {
  std::vector<Axis> out;
  std::ranges::copy_if(axes, std::back_inserter(out),
                       [&](const Axis& a) { return in_strips(nest, a) || !a.extent.is(1); });
  return out;
}

// As a factor.
std::string length_of(const Nest& nest, const Axis& axis, const std::string& rows, const DimText& text) {
  if (in_strips(nest, axis)) return "(" + rows + ")";
  return axis.extent.is_concrete() ? text(axis.extent) : "(" + text(axis.extent) + ")";
}

std::string product_of(const Nest& nest, const std::vector<Axis>& axes, const std::string& rows,
                       const DimText& text) {
  std::vector<std::string> words;
  for (const Axis& a : axes) words.push_back(length_of(nest, a, rows, text));
  return words.empty() ? "1" : fmt::format("{}", fmt::join(words, " * "));
}

// Batch and outer rows of a tile that all parts are one position of.
std::vector<Axis> tile_axes(const Nest& nest) {
  const Tile& tile = *nest.tile;
  std::vector<Axis> axes = tile.batch;
  const bool by_columns = tile.shared == Tile::Shared::Columns;
  if (!by_columns && !tile.outer_rows.empty())
    axes.insert(axes.end(), tile.outer_rows.begin(), tile.outer_rows.end() - 1);
  return long_axes(nest, axes);
}

// Parts of a tile at one position of those axes.
std::string parts_of_tile(const Plan& plan, const Tile& tile, const DimText& text) {
  const auto factor = [&](const Dim& d) { return d.is_concrete() ? text(d) : "(" + text(d) + ")"; };
  if (tile.shared == Tile::Shared::Columns)
    return factor(Dim::floor(tile.columns.extent + Dim(tile.width - 1), tile.width));
  if (!tile.outer_rows.empty()) return factor(tile.outer_rows.back().extent);
  return row_tiles(plan, tile, text);
}

std::vector<Axis> shared_axes(const Nest& nest) {
  std::vector<Axis> out;
  for (const Loop& l : shared_loops(nest)) out.push_back(l.axis);
  return out;
}

// Positions of several axes out of one number, which is unsigned: a compiler that considers negative ones
// makes slower loops of them.
void define_positions(NestWriter& out, const std::vector<Axis>& axes) {
  std::string number = "(uint64_t)unit";
  for (std::size_t k = axes.size(); k-- > 0;) {
    const std::string extent =
        length_of(out.nest(), axes[k], "to - from", [&](const Dim& dim) { return out.text(dim); });
    const std::string at = k == 0 ? number : fmt::format("{} % (uint64_t){}", number, extent);
    out.define_axis(axes[k],
                    (in_strips(out.nest(), axes[k]) ? "from + " : "") + fmt::format("(int64_t)({})", at));
    number = fmt::format("({} / (uint64_t){})", number, extent);
  }
}

// The long ones; the others are defined.
std::vector<Axis> define_short(NestWriter& out, const std::vector<Axis>& axes) {
  std::vector<Axis> several = long_axes(out.nest(), axes);
  for (const Axis& a : axes)
    if (std::ranges::find(several, a) == several.end()) out.define_axis(a, "0");
  return several;
}

// One loop over all parts.
std::size_t open_parts(NestWriter& out, const std::vector<Axis>& axes) {
  const std::vector<Axis> several = define_short(out, axes);
  if (several.empty()) return 0;
  if (several.size() == 1) {
    const std::string begin = in_strips(out.nest(), several[0]) ? "from + " : "";
    out.open(fmt::format("for (int64_t {0} = {1}low; {0} < {1}high; ++{0})", out.name_of(several[0]), begin));
    out.note_axis(several[0]);
    return 1;
  }
  out.open("for (int64_t unit = low; unit < high; ++unit)");
  define_positions(out, several);
  return 1;
}

}  // namespace

bool in_strips(const Nest& nest, const Axis& axis) { return nest.strip && nest.strip->rows == axis; }

std::string row_tiles(const Plan& plan, const Tile& tile, const DimText& text) {
  const std::string kind = tile_rows_kind(plan, tile), rows = text(tile.rows.extent);
  if (tile.rows.extent.is_concrete()) return fmt::format("im_row_tiles<{}>({}, {})", kind, rows, tile.block);
  return fmt::format("im_open_row_tiles({}, {}, im_tile_height<{}>({}))", rows, tile.block, kind,
                     std::min(plan.sizes.usual(tile.rows), tile.block));
}

std::string part_count(const Plan& plan, const Nest& nest, const std::string& rows, const DimText& text) {
  if (nest.winograd) {
    const Winograd& w = *nest.winograd;
    const Dim parts = w.shared == Tile::Shared::Columns ? Dim(w.panels) : w.all_tiles();
    return fmt::format("{} * {}", product_of(nest, long_axes(nest, w.batch), rows, text),
                       parts.is_concrete() ? text(parts) : "(" + text(parts) + ")");
  }
  if (!nest.tile) return product_of(nest, long_axes(nest, shared_axes(nest)), rows, text);
  return fmt::format("{} * {}", product_of(nest, tile_axes(nest), rows, text),
                     parts_of_tile(plan, *nest.tile, text));
}

// A loop that becomes vectors is cut where vectors end, so that no element is computed otherwise.
std::int64_t part_grain(const Nest& nest) {
  constexpr std::int64_t kGrain = 256;
  const bool is_all = !nest.tile && !nest.winograd && shared_loops(nest).size() == nest.loops.size();
  return is_all ? kGrain : 1;
}

std::size_t open_loops(NestWriter& out, const std::vector<Loop>& loops) {
  const std::vector<Axis> shared = shared_axes(out.nest());
  std::size_t opened = shared.empty() ? 0 : open_parts(out, shared);
  for (std::size_t k = shared.size(); k < loops.size(); ++k, ++opened)
    out.open_loop(loops[k].axis, "0", out.text(loops[k].axis.extent));
  return opened;
}

std::size_t open_parts_around(NestWriter& out, const std::vector<Axis>& axes, const std::string& inner) {
  const std::vector<Axis> several = define_short(out, axes);
  if (several.empty()) {
    out.say("const int64_t x_from = low, x_to = high;");
    return 0;
  }
  out.open(fmt::format("for (int64_t unit = low / {0}; unit * {0} < high; ++unit)", inner));
  out.say(
      fmt::format("const int64_t x_from = unit * {0} < low ? low - unit * {0} : 0, "
                  "x_to = (unit + 1) * {0} > high ? high - unit * {0} : {0};",
                  inner));
  define_positions(out, several);
  return 1;
}

}  // namespace isomer::lower
