// A product tile by tile: for batch, blocks of outer rows, groups of panels of columns, outer rows, tiles of
// rows, panels: the tile, then what becomes of its elements.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/emit/emit_bfloat16.h"
#include "compiler/emit/emit_nest.h"
#include "compiler/emit/thread_parts.h"
#include "compiler/emit/tile_end.h"
#include "compiler/loops/compose.h"

namespace isomer::lower {
namespace {

class TileWriter {
 public:
  explicit TileWriter(NestWriter& out)
      : out_(out),
        tile_(*out.nest().tile),
        rows_(tile_.rows.extent.concrete()),
        columns_(tile_.columns.extent.concrete()),
        panels_((columns_ + tile_.width - 1) / tile_.width),
        panel_{.id = -2, .extent = panels_},
        first_{.id = -3, .extent = tile_.rows.extent},
        length_(outer().empty() ? rows_ : outer().back().extent.concrete()),
        in_pieces_(tile_.chunk > 0),
        pairs_(PairedTileText::of(out.plan(), tile_)) {
    out_.set_name(panel_, "panel");
    out_.set_name(first_, "first");
  }

  void write() {
    declare_sums();
    const std::size_t around = open_around();
    open_block();
    open_group();
    find_factors();
    if (pairs_ && !pairs_->memory().empty()) out_.say(pairs_->memory());
    if (in_pieces_) open_piece();
    const std::size_t inside = open_rows();
    say_left();
    out_.open_loop(panel_, "group", "next");
    const std::string products = products_of_panel();
    TileEnd end(out_);
    if (end.goes_by_vectors()) end_by_vectors(end, products, inside + 1);
    else end_by_elements(products, inside + 1);
    out_.close_all(around + 2);
  }

 private:
  const std::vector<Axis>& outer() const { return tile_.outer_rows; }
  bool by_rows() const { return tile_.shared == Tile::Shared::Rows; }
  bool by_columns() const { return tile_.shared == Tile::Shared::Columns; }
  // Without outer rows, threads divide tiles of rows.
  bool by_tiles() const { return by_rows() && outer().empty(); }
  // Rows of a block that follow each other.
  std::int64_t rows_in_block() const { return outer().empty() ? std::min(rows_, tile_.block) : rows_; }
  std::int64_t all_rows_in_block() const { return outer().empty() ? rows_in_block() : rows_ * tile_.block; }

  // Sums that wait for more pieces are of all rows of a block and all panels of a group.
  void declare_sums() {
    const std::string kind = tile_rows_kind(out_.plan(), tile_);
    out_.say(in_pieces_ ? fmt::format("float tile[{} * {} * {}] __attribute__((aligned(64)));", tile_.group,
                                      all_rows_in_block(), tile_.width)
                        : fmt::format("float tile[im_rows<{}>::most * {}] __attribute__((aligned(64)));",
                                      kind, tile_.width));
    out_.say(fmt::format("constexpr int64_t height = im_tile_height<{}>({});", kind, rows_in_block()));
    if (by_tiles())
      out_.say(fmt::format(
          "constexpr int64_t tiles = ({} + height - 1) / height, all_tiles = im_row_tiles<{}>({}, {});",
          rows_in_block(), kind, rows_, tile_.block));
  }

  std::size_t open_around() {
    std::vector<Axis> around = tile_.batch;
    if (!outer().empty()) around.insert(around.end(), outer().begin(), outer().end() - 1);
    if (by_rows())
      return open_parts_around(out_, around, by_tiles() ? "all_tiles" : fmt::format("{}", length_));
    std::size_t opened = 0;
    if (by_columns()) {
      opened = open_parts_around(out_, tile_.batch, fmt::format("{}", panels_));
      around.erase(around.begin(), around.begin() + static_cast<std::ptrdiff_t>(tile_.batch.size()));
    }
    for (const Axis& a : around) opened += out_.open_axis(a);
    return opened;
  }

  void open_block() {
    if (by_tiles()) {
      out_.open("for (int64_t block = x_from / tiles; block * tiles < x_to; ++block)");
      out_.say(fmt::format("const int64_t start = block * {0}, end = start + {0} < {1} ? start + {0} : {1};",
                           tile_.block, length_));
      out_.say(
          "const int64_t first_row = start + (x_from > block * tiles ? x_from - block * tiles : 0) * "
          "height;");
      out_.say("const int64_t last_row = start + (x_to - block * tiles) * height;");
      out_.say("const int64_t end_row = last_row < end ? last_row : end;");
    } else {
      const std::string end = by_rows() ? "x_to" : fmt::format("{}", length_);
      out_.open(fmt::format("for (int64_t start = {}; start < {}; start += {})", by_rows() ? "x_from" : "0",
                            end, tile_.block));
      out_.say(fmt::format("const int64_t end = start + {0} < {1} ? start + {0} : {1};", tile_.block, end));
    }
  }

  void open_group() {
    const std::string end = by_columns() ? "x_to" : fmt::format("{}", panels_);
    out_.open(fmt::format("for (int64_t group = {}; group < {}; group += {})", by_columns() ? "x_from" : "0",
                          end, tile_.group));
    out_.say(fmt::format("const int64_t next = group + {0} < {1} ? group + {0} : {1};", tile_.group, end));
  }

  // Outermost first.
  std::vector<Axis> reduced() const {
    std::vector<Axis> out = tile_.outer;
    out.push_back(tile_.depth);
    return out;
  }

  // Where the left factor and the panel begin, and the three reduced loops that a tile has: steps and counts;
  // missing ones are loops of one.
  void find_factors() {
    const Nest& nest = out_.nest();
    const ExprNode& read_left = *nest.reduction->args[0]->args[tile_.left_first ? 0 : 1];
    left_ = out_.address(tile_.left, read_left.at);
    std::vector<Index> at;
    for (const Axis& a : tile_.kept) at.emplace_back(a);
    at.emplace_back(panel_);
    at.resize(out_.plan().buffer(tile_.right).extents.size());
    AxisMap by{{tile_.rows.id, Index(first_)}};
    for (const Axis& a : nest.reduction->axes) by[a.id] = Index(0);
    steps_.assign(3 - reduced().size(), 0);
    counts_.assign(3 - reduced().size(), "1");
    for (const Axis& a : reduced()) {
      steps_.push_back(stride(left_, a));
      counts_.push_back(fmt::format("{}", a.extent.concrete()));
    }
    begin_ = out_.text(with_axes(left_, by));
    panel_at_ = out_.text(out_.address(tile_.right, at));
  }

  // A piece of the outermost reduced axis, that all rows of a block see before the next one.
  void open_piece() {
    const std::vector<Axis> axes = reduced();
    std::int64_t below = tile_.width;  // of the panel, per step of that axis
    for (std::size_t k = 1; k < axes.size(); ++k) below *= axes[k].extent.concrete();
    out_.open(fmt::format("for (int64_t piece = 0; piece < {}; piece += {})", pieces(), tile_.chunk));
    out_.say(
        fmt::format("const int64_t more = piece + {0} < {1} ? {0} : {1} - piece;", tile_.chunk, pieces()));
    counts_[3 - axes.size()] = "more";
    begin_ += fmt::format(" + {}*piece", stride(left_, axes[0]));
    panel_at_ += fmt::format(" + {}*piece", below);
  }
  std::int64_t pieces() const { return reduced()[0].extent.concrete(); }

  // Tiles of rows; the number of blocks that were opened.
  std::size_t open_rows() {
    if (!outer().empty()) out_.open_loop(outer().back(), "start", "end");
    out_.open(fmt::format("for (int64_t first = {}; first < {}; first += height)",
                          by_tiles()        ? "first_row"
                          : outer().empty() ? "start"
                                            : "0",
                          by_tiles()        ? "end_row"
                          : outer().empty() ? "end"
                                            : fmt::format("{}", rows_)));
    out_.note_axis(first_);
    out_.say(fmt::format("const int64_t rows = first + height < {0} ? height : {0} - first;",
                         outer().empty() ? "end" : fmt::format("{}", rows_)));
    return outer().empty() ? 1 : 2;
  }

  void say_left() {
    out_.say(fmt::format("const im_left left = {{{} + ({}), {}, {}, {}, {}, {}, {}, {}}};",
                         out_.pointer(tile_.left), begin_, stride(left_, tile_.rows), steps_[0], steps_[1],
                         steps_[2], counts_[0], counts_[1], counts_[2]));
    if (pairs_)
      for (const std::string& line : pairs_->round_rows()) out_.say(line);
  }

  // Where the sums of a tile wait.
  std::string sums() {
    if (!in_pieces_) return "tile";
    return fmt::format("tile + {}*((panel - group)*{} + {})", tile_.width, all_rows_in_block(),
                       outer().empty()
                           ? "first - start"
                           : fmt::format("({} - start)*{} + first", out_.name_of(outer().back()), rows_));
  }
  std::string panel() { return fmt::format("{} + ({})", out_.pointer(tile_.right), panel_at_); }

  // All sums of a panel, left in memory.
  std::string products_of_panel() {
    if (pairs_) return pairs_->call(tile_.width, panel(), "");
    return fmt::format("im_tiles<{}>::run(rows, left, {}, {}{});", tile_.width, panel(), sums(),
                       in_pieces_ ? ", piece > 0" : "");
  }
  // The first `columns` of a panel, passed on to `end_of`.
  std::string products_with_end(std::int64_t columns) {
    if (pairs_) return pairs_->call(columns, panel(), ", end_of");
    // Heights of tiles: of a whole block, of the last one.
    const std::int64_t all = rows_in_block(), last = outer().empty() ? rows_ % all : 0;
    return fmt::format("im_tile<{}, {}, {}, {}>(rows, left, {}, {}, {}, end_of);", tile_.width, columns, all,
                       last, panel(), sums(), in_pieces_ ? "piece > 0" : "false");
  }

  // `inside`: blocks from the rows on.
  void end_by_vectors(TileEnd& end, const std::string& products, std::size_t inside) {
    if (in_pieces_) {
      out_.open(fmt::format("if (piece + more < {})", pieces()));
      out_.say(products);
      out_.say("continue;");
      out_.close();
    }
    end.define_function();
    if (columns_ % tile_.width == 0) {
      out_.say(products_with_end(tile_.width));
    } else if (panels_ == 1) {
      out_.say(products_with_end(columns_));
    } else {
      out_.say(fmt::format("if (panel + 1 < {}) {}", panels_, products_with_end(tile_.width)));
      out_.say("else " + products_with_end(columns_ % tile_.width));
    }
    out_.close_all(inside + (in_pieces_ ? 1 : 0));
  }

  void end_by_elements(const std::string& products, std::size_t inside) {
    out_.say(products);
    if (in_pieces_) {
      out_.close_all(inside + 1);
      inside = open_rows() + 1;
      out_.open_loop(panel_, "group", "next");
    }
    out_.open("for (int64_t m = 0; m < rows; ++m)");
    out_.define_axis(tile_.rows, "first + m");
    std::string width = fmt::format("{}", tile_.width);
    if (columns_ % tile_.width != 0) {
      out_.say(fmt::format("const int64_t width = {0} - {1}*panel < {1} ? {0} - {1}*panel : {1};", columns_,
                           tile_.width));
      width = "width";
    }
    out_.open(fmt::format("for (int64_t n = 0; n < {}; ++n)", width));
    out_.define_axis(tile_.columns, fmt::format("{}*panel + n", tile_.width));
    out_.bind(out_.nest().reduction, fmt::format("({})[{}*m + n]", sums(), tile_.width));
    out_.store_value();
    out_.close_all(inside + 2);
  }

  NestWriter& out_;
  const Tile& tile_;
  std::int64_t rows_, columns_, panels_;
  Axis panel_, first_;
  std::int64_t length_;  // of what a block is a part of
  bool in_pieces_;
  std::optional<PairedTileText> pairs_;
  Index left_;  // where the left factor goes
  std::string begin_, panel_at_;
  std::vector<std::int64_t> steps_;
  std::vector<std::string> counts_;
};

}  // namespace

void emit_tile(NestWriter& out) { TileWriter(out).write(); }

}  // namespace isomer::lower
