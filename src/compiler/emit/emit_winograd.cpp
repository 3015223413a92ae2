// A 3x3 convolution by Winograd's algorithm: blocks of tiles, of which inputs are transformed and multiplied;
// then, tile by tile, what becomes of the outputs.
#include <fmt/format.h>

#include "compiler/emit/emit_nest.h"
#include "compiler/emit/thread_parts.h"

namespace isomer::lower {
namespace {

class WinogradWriter {
 public:
  explicit WinogradWriter(NestWriter& out)
      : out_(out), w_(*out.nest().winograd), by_panels_(w_.shared == Tile::Shared::Columns) {}

  void write() {
    const std::size_t opened = open_batch();
    say_image();
    open_block();
    say_products();
    finish_tiles();
    out_.close_all(opened + 1);
  }

 private:
  std::size_t open_batch() {
    if (is_shared(out_.nest()))
      return open_parts_around(out_, w_.batch,
                               by_panels_ ? fmt::format("{}", w_.panels) : out_.factor_text(w_.all_tiles()));
    std::size_t opened = 0;
    for (const Axis& a : w_.batch) opened += out_.open_axis(a);
    return opened;
  }

  void say_image() {
    const Storage& image = out_.plan().buffer(w_.left);
    const ExprNode& read_left = *out_.nest().reduction->args[0]->args[w_.left_first ? 0 : 1];
    std::vector<Index> first_window = read_left.at;
    first_window[w_.row_axis] = first_window[w_.column_axis] = first_window[w_.channel_axis] = Index(0);
    const std::string scratch = out_.pointer(w_.scratch);
    out_.say(fmt::format("const im_image image = {{{} + ({}), {}, {}, {}, {}, {}, {}, {}, {}}};",
                         out_.pointer(w_.left), out_.text(out_.address(w_.left, first_window)),
                         out_.text(image.strides[w_.row_axis]), out_.text(image.strides[w_.column_axis]),
                         out_.text(image.extents[w_.row_axis]), out_.text(image.extents[w_.column_axis]),
                         w_.channels, w_.top, w_.left_edge, out_.text(w_.tiles_across())));
    out_.say(fmt::format("float* v = (float*){0};\n{1}float* m = v + {2};", scratch, out_.indent(),
                         w_.points() * w_.input_plane()));
  }

  void open_block() {
    if (w_.shared == Tile::Shared::Rows) {
      // Blocks about equally large.
      out_.say(fmt::format(
          "const int64_t blocks = (x_to - x_from + {0} - 1) / {0}, step = (x_to - x_from + blocks "
          "- 1) / blocks;",
          w_.tiles));
      out_.open("for (int64_t first = x_from; first < x_to; first += step)");
      out_.say("const int64_t tiles = first + step < x_to ? step : x_to - first;");
    } else {
      out_.open(fmt::format("for (int64_t first = 0; first < {}; first += {})", out_.text(w_.all_tiles()),
                            w_.tiles));
      out_.say(fmt::format("const int64_t tiles = first + {0} < {1} ? {0} : {1} - first;", w_.tiles,
                           out_.text(w_.all_tiles())));
    }
  }

  void say_products() {
    out_.say(fmt::format("im_winograd_input<{}>(image, {}, first, tiles, v, {}, {});", w_.size,
                         out_.pointer(w_.zeros), w_.row_length(), w_.input_plane()));
    out_.say(fmt::format(
        "im_winograd_products<{}, {}>(v, {}, {}, {}, {}, {}, {}, {}, tiles, {}, m, {});", w_.size, w_.width,
        w_.row_length(), w_.input_plane(), out_.pointer(w_.weights), w_.panels, by_panels_ ? "x_from" : "0",
        by_panels_ ? "x_to" : fmt::format("{}", w_.panels), w_.channels, w_.tiles, w_.product_plane()));
  }

  void finish_tiles() {
    const std::int64_t outputs = w_.output.extent.concrete();
    std::string first_output = "0", end_output = fmt::format("{}", outputs);
    if (by_panels_) {
      first_output = fmt::format("x_from * {}", w_.width);
      end_output = "end";
      out_.say(fmt::format("const int64_t end = x_to * {0} < {1} ? x_to * {0} : {1};", w_.width, outputs));
    }
    out_.open("for (int64_t i = 0; i < tiles; ++i)");
    out_.say("const uint64_t number = (uint64_t)(first + i);");
    out_.say(fmt::format(
        "const int64_t row = (int64_t)(number / {0} * {1}), column = (int64_t)(number % {0} * {1});",
        out_.factor_text(w_.tiles_across()), w_.size));
    out_.open(fmt::format("for (int64_t c = {}; c < {}; c += 16)", first_output, end_output));
    out_.say(fmt::format("float tile[{}];", 16 * w_.size * w_.size));
    out_.say(fmt::format("im_winograd_output<{3}>(m + (c / {0} * {1} + i) * {0} + c % {0}, {2}, tile);",
                         w_.width, w_.tiles, w_.product_plane(), w_.size));
    out_.open(
        fmt::format("for (int64_t k = 0; k < {} && row + k < {}; ++k)", w_.size, out_.text(w_.row.extent)));
    out_.define_axis(w_.row, "row + k");
    out_.open(fmt::format("for (int64_t j = 0; j < {} && column + j < {}; ++j)", w_.size,
                          out_.text(w_.column.extent)));
    out_.define_axis(w_.column, "column + j");
    out_.open_elements(w_.output, "16");
    out_.define_axis(w_.output, "c + n");
    out_.bind(out_.nest().reduction, fmt::format("tile[{}*k + 16*j + n]", 16 * w_.size));
    out_.store_value();
    out_.close_all(5);
  }

  NestWriter& out_;
  const Winograd& w_;
  bool by_panels_;
};

}  // namespace

void emit_winograd(NestWriter& out) { WinogradWriter(out).write(); }

}  // namespace isomer::lower
