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
        rows_(tile_.rows.extent),
        columns_(tile_.columns.extent),
        panels_(Dim::floor(columns_ + Dim(tile_.width - 1), tile_.width)),
        panel_{.id = -2, .extent = panels_},
        first_{.id = -3, .extent = tile_.rows.extent},
        length_(outer().empty() ? rows_ : outer().back().extent),
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
  // Whether how many rows or columns the last tile has is open.
  bool is_open() const { return !rows_.is_concrete() || !columns_.is_concrete(); }
  // Rows of a block that follow each other, at usual sizes.
  std::int64_t rows_in_block() const {
    const std::int64_t rows = out_.plan().sizes.usual(rows_);
    return outer().empty() ? std::min(rows, tile_.block) : rows;
  }
  // At most, if sums wait there.
  std::int64_t all_rows_in_block() const {
    if (!rows_.is_concrete()) return tile_.block;
    return outer().empty() ? rows_in_block() : rows_.concrete() * tile_.block;
  }

  // Sums that wait for more pieces are of all rows of a block and all panels of a group.
  void declare_sums() {
    const std::string kind = tile_rows_kind(out_.plan(), tile_);
    out_.say(in_pieces_ ? fmt::format("float tile[{} * {} * {}] __attribute__((aligned(64)));", tile_.group,
                                      all_rows_in_block(), tile_.width)
                        : fmt::format("float tile[im_rows<{}>::most * {}] __attribute__((aligned(64)));",
                                      kind, tile_.width));
    out_.say(fmt::format("constexpr int64_t height = im_tile_height<{}>({});", kind, rows_in_block()));
    if (!by_tiles()) return;
    if (rows_.is_concrete())
      out_.say(fmt::format("constexpr int64_t tiles = ({} + height - 1) / height, all_tiles = {};",
                           rows_in_block(), row_tiles(out_.plan(), tile_, text())));
    else
      out_.say(
          fmt::format("const int64_t tiles = (im_smaller({}, {}) + height - 1) / height, all_tiles = {};",
                      out_.text(rows_), tile_.block, row_tiles(out_.plan(), tile_, text())));
  }
  DimText text() {
    return [this](const Dim& dim) { return out_.text(dim); };
  }

  std::size_t open_around() {
    std::vector<Axis> around = tile_.batch;
    if (!outer().empty()) around.insert(around.end(), outer().begin(), outer().end() - 1);
    if (by_rows()) return open_parts_around(out_, around, by_tiles() ? "all_tiles" : factor_text(length_));
    std::size_t opened = 0;
    if (by_columns()) {
      opened = open_parts_around(out_, tile_.batch, factor_text(panels_));
      around.erase(around.begin(), around.begin() + static_cast<std::ptrdiff_t>(tile_.batch.size()));
    }
    for (const Axis& a : around) opened += out_.open_axis(a);
    return opened;
  }

  void open_block() {
    if (by_tiles()) {
      out_.open("for (int64_t block = x_from / tiles; block * tiles < x_to; ++block)");
      out_.say(fmt::format("const int64_t start = block * {0}, end = start + {0} < {1} ? start + {0} : {1};",
                           tile_.block, out_.text(length_)));
      out_.say(
          "const int64_t first_row = start + (x_from > block * tiles ? x_from - block * tiles : 0) * "
          "height;");
      out_.say("const int64_t last_row = start + (x_to - block * tiles) * height;");
      out_.say("const int64_t end_row = last_row < end ? last_row : end;");
    } else {
      const std::string end = by_rows() ? "x_to" : out_.text(length_);
      out_.open(fmt::format("for (int64_t start = {}; start < {}; start += {})", by_rows() ? "x_from" : "0",
                            end, tile_.block));
      out_.say(fmt::format("const int64_t end = start + {0} < {1} ? start + {0} : {1};", tile_.block, end));
    }
  }

  void open_group() {
    const std::string end = by_columns() ? "x_to" : out_.text(panels_);
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
    steps_.assign(3 - reduced().size(), "0");
    counts_.assign(3 - reduced().size(), "1");
    for (const Axis& a : reduced()) {
      steps_.push_back(out_.text(stride(left_, a)));
      counts_.push_back(out_.text(a.extent));
    }
    begin_ = out_.text(with_axes(left_, by));
    panel_at_ = out_.text(out_.address(tile_.right, at));
  }

  // A piece of the outermost reduced axis, that all rows of a block see before the next one.
  void open_piece() {
    const std::vector<Axis> axes = reduced();
    Dim below = tile_.width;  // of the panel, per step of that axis
    for (std::size_t k = 1; k < axes.size(); ++k) below = below * axes[k].extent;
    out_.open(fmt::format("for (int64_t piece = 0; piece < {}; piece += {})", pieces(), tile_.chunk));
    out_.say(
        fmt::format("const int64_t more = piece + {0} < {1} ? {0} : {1} - piece;", tile_.chunk, pieces()));
    counts_[3 - axes.size()] = "more";
    begin_ += fmt::format(" + {}*piece", factor_text(stride(left_, axes[0])));
    panel_at_ += fmt::format(" + {}*piece", factor_text(below));
  }
  std::string factor_text(const Dim& dim) { return out_.factor_text(dim); }
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
                                            : out_.text(rows_)));
    out_.note_axis(first_);
    out_.say(fmt::format("const int64_t rows = first + height < {0} ? height : {0} - first;",
                         outer().empty() ? "end" : out_.text(rows_)));
    return outer().empty() ? 1 : 2;
  }

  void say_left() {
    out_.say(fmt::format("const im_left left = {{{} + ({}), {}, {}, {}, {}, {}, {}, {}}};",
                         out_.pointer(tile_.left), begin_, out_.text(stride(left_, tile_.rows)), steps_[0],
                         steps_[1], steps_[2], counts_[0], counts_[1], counts_[2]));
    if (pairs_)
      for (const std::string& line : pairs_->round_rows()) out_.say(line);
  }

  // Where the sums of a tile wait.
  std::string sums() {
    if (!in_pieces_) return "tile";
    return fmt::format("tile + {}*((panel - group)*{} + {})", tile_.width, all_rows_in_block(),
                       outer().empty() ? "first - start"
                                       : fmt::format("({} - start)*{} + first", out_.name_of(outer().back()),
                                                     out_.text(rows_)));
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
    if (is_open()) return open_products_with_end(fmt::format("{}", columns), columns);
    const std::int64_t all = rows_in_block(), last = outer().empty() ? rows_.concrete() % all : 0;
    return fmt::format("im_tile<{}, {}, {}, {}>(rows, left, {}, {}, {}, end_of);", tile_.width, columns, all,
                       last, panel(), sums(), in_pieces_ ? "piece > 0" : "false");
  }

  // The same where that is open: `count` columns, as C++, of which `usual` go by registers.
  std::string open_products_with_end(const std::string& count, std::int64_t usual) {
    return fmt::format("im_open_tile<{}, {}, height>(rows, {}, left, {}, {}, {}, end_of);", tile_.width,
                       usual, count, panel(), sums(), in_pieces_ ? "piece > 0" : "false");
  }
  // Columns of the last panel, as C++; what else is left defines `width`.
  void say_width() {
    const std::string columns = factor_text(columns_);
    out_.say(fmt::format("const int64_t width = {0} - {1}*panel < {1} ? {0} - {1}*panel : {1};", columns,
                         tile_.width));
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
    const Dim rest = Dim::mod(columns_, tile_.width);
    if (rest.is(0)) {
      out_.say(products_with_end(tile_.width));
    } else if (!columns_.is_concrete()) {
      say_width();
      out_.say(open_products_with_end("width", tile_.width));
    } else if (panels_.is(1)) {
      out_.say(products_with_end(columns_.concrete()));
    } else {
      out_.say(fmt::format("if (panel + 1 < {}) {}", out_.text(panels_), products_with_end(tile_.width)));
      out_.say("else " + products_with_end(rest.concrete()));
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
    if (!Dim::mod(columns_, tile_.width).is(0)) {
      say_width();
      width = "width";
    }
    out_.open_elements(tile_.columns, width);
    out_.define_axis(tile_.columns, fmt::format("{}*panel + n", tile_.width));
    out_.bind(out_.nest().reduction, fmt::format("({})[{}*m + n]", sums(), tile_.width));
    out_.store_value();
    out_.close_all(inside + 2);
  }

  NestWriter& out_;
  const Tile& tile_;
  Dim rows_, columns_, panels_;
  Axis panel_, first_;
  Dim length_;  // of the axis that contains the block
  bool in_pieces_;
  std::optional<PairedTileText> pairs_;
  Index left_;  // where the left factor goes
  std::string begin_, panel_at_;
  std::vector<std::string> steps_, counts_;
};

}  // namespace

void emit_tile(NestWriter& out) { TileWriter(out).write(); }

}  // namespace isomer::lower
