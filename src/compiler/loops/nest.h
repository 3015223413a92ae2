// Nest: one tensor of a compiled model as loops over buffers; Plan: all of them, in the order in which they
// run.
//
//   for every point p of `axes`:  target[at(p)] = value(p)
//
// `value` is a formula's expression whose reads are numbered by buffer. Loops say in which order points run:
// they begin as the axes themselves, and a schedule (schedule.h) splits, fuses and reorders them. Nothing
// here knows an operator: nests are made of formulas, and changed by what formulas allow.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/nth.h"
#include "model/expr/formula.h"
#include "model/expr/tensor.h"

namespace isomer::lower {

// A size that is known when the model runs: a multiple of `step`. Numbers that depend on it count its steps,
// and so do the other fields.
struct OpenSize {
  std::string name = {};
  std::int64_t step = 1;
  std::int64_t least = 1;
  std::int64_t usual = 1;                 // what decisions are made for
  std::optional<std::int64_t> most = {};  // that the model runs at; nullopt: there is no bound
};

// All of them, in the order of a run's arguments. The computation holds at every size; its schedule is chosen
// for the usual ones.
struct Sizes {
  std::vector<OpenSize> open = {};
  // The one of these that is a batch whose samples are computed one by one: the plan is of one sample. "":
  // there is none.
  std::string batch = {};
  std::set<std::string> batched = {};  // inputs whose first axis is the batch
  bool is_empty() const { return open.empty(); }
  // The number that it is at usual sizes.
  std::int64_t usual(const Dim& dim) const;
  std::int64_t usual(const Axis& axis) const { return usual(axis.extent); }
  // The same number of sizes that are counted from the least ones on: Dim compares for all sizes from 0 on.
  Dim from_least(const Dim& dim) const;
};

// Where the elements of a tensor are: a box with a stride for every axis, inside of some memory.
struct Storage {
  enum class Kind : std::uint8_t { Input, Output, Weight, Local };
  Kind kind = Kind::Local;
  std::string name = {};  // of the model's value; for people
  ElementType type = ElementType::Float;
  Dims extents = {};
  Dims strides = {};            // in elements
  Extents low = {}, high = {};  // zeros before and behind each axis; none: there are none
  std::int64_t gap = 0;         // elements of memory behind each row of the innermost axis, never used
  // A ring buffer: the number of rows that are kept along ring_axis, zeros included; row r is in slot r mod
  // ring. 0: all rows are kept.
  std::int64_t ring = 0;
  std::size_t ring_axis = 0;
  Dim size = 0;              // elements of memory, gaps included
  std::int64_t offset = -1;  // bytes: of a Local in the workspace, of a Weight in its file; -1: not placed
  // Where sizes are open: buffers that this one lies above, at the lowest place above all of them.
  std::vector<int> below = {};
  // Memory that threads can't share: every thread but the first has its own, in a part of the workspace that
  // is its own.
  bool each_thread = false;
  std::int64_t thread_offset = -1;  // bytes, in such a part
  Tensor value = {};                // of a Weight; its strides are row-major
};
// Bytes of that memory, or of the file.
Dim byte_size(const Storage& storage);
// Where the element at zeros is in that memory.
Dim origin(const Storage& storage);
// Whether an index along an axis never leaves the memory: the tensor, or the zeros around it.
bool stays_inside(const Storage& storage, std::size_t axis, const Index& at);
// Where an access goes, in elements from there.
Index address_of(const Storage& storage, const std::vector<Index>& at);
// How far an address goes with one step of the axis.
Dim stride(const Index& address, const Axis& axis);
// The axes, outermost first, as strides have them at usual sizes.
std::vector<int> order_of(const Storage& storage, const Sizes& sizes);
// The innermost axis of such an order with more than one element; the last one if there is none.
std::size_t innermost_axis(const Storage& storage, const std::vector<int>& order);
// Lays the tensor out in this order, with the zeros around it and the gap behind its rows.
void lay_out(Storage& storage, const std::vector<int>& order);
// Strides of a row-major box, and of one whose axes are laid out in another order, outermost first.
Dims row_major(const Dims& extents);
Dims strides_in_order(const Dims& extents, const std::vector<int>& order);

struct Loop {
  enum class Kind : std::uint8_t { Serial, Parallel, Unrolled, Vector };
  Axis axis = {};
  Kind kind = Kind::Serial;
  std::string name = {};
};

// A formula's axis as an index over loops.
struct AxisOfLoops {
  Axis axis = {};
  Index index = {};
  bool is_reduced = false;
};

// The product of two reads, summed, that a kernel does tile by tile:
//   for batch, blocks of outer rows, groups of panels of columns, outer rows, tiles of rows, panels
struct Tile {
  Axis rows = {}, columns = {}, depth = {};  // of the nest, or of its reduction
  std::vector<Axis> batch = {}, outer_rows = {};
  std::vector<Axis> outer = {};  // other reduced axes, outermost first: at most two
  std::vector<Axis> kept = {};   // of the batch, those that the right factor has
  std::int64_t width = 0;        // columns of one panel
  std::int64_t block = 0;  // outer rows (or, without any, rows) that see all panels before the next ones do
  std::int64_t group = 1;  // panels that a tile of rows sees while it is in the first cache
  std::int64_t chunk =
      0;  // of the outermost reduced axis, that all rows of a block see before the next; 0: all of it
  // The parts that threads divide: batch and outer rows (or, without any, tiles of rows), or batch and
  // panels.
  enum class Shared : std::uint8_t { None, Rows, Columns };
  Shared shared = Shared::None;
  bool left_first = true;              // among the product's factors
  int left = 0, right = 0;             // buffers; `right` is packed: [kept..., panel, outer..., depth, lane]
  std::vector<Axis> packed_axes = {};  // of `right`, and its value over them
  Expr packed_value = {};
};

// A 3x3 convolution by Winograd's F(size, 3).
struct Winograd {
  Axis row = {}, column = {}, output = {};  // of the nest
  std::vector<Axis> batch = {};
  int left = 0, weights = 0, zeros = 0, scratch = 0;  // buffers
  bool left_first = true;
  std::size_t row_axis = 0, column_axis = 0, channel_axis = 0;  // of the left tensor
  std::int64_t top = 0, left_edge = 0;                          // what the first window begins with
  std::int64_t channels = 0, width = 0, panels = 0, tiles = 0;  // tiles: that are done together
  std::int64_t size = 4;                                        // of a tile of outputs: 4, or 2
  Tile::Shared shared = Tile::Shared::None;  // what threads divide: batch and tiles, or batch and panels
  std::int64_t points() const { return (size + 2) * (size + 2); }
  // Tiles of one image, and of one row of it.
  Dim tiles_across() const { return Dim::floor(column.extent + Dim(size - 1), size); }
  Dim all_tiles() const { return Dim::floor(row.extent + Dim(size - 1), size) * tiles_across(); }
  // Numbers of the scratch memory: transformed inputs, a row of which has a gap behind it, and products. Each
  // point has a plane of both; planes are an odd number of cache lines apart, because transforms go from
  // plane to plane.
  std::int64_t row_length() const { return channels + 16; }
  std::int64_t input_plane() const { return odd_lines(tiles * row_length()); }
  std::int64_t product_plane() const { return odd_lines(tiles * panels * width); }
  std::int64_t scratch_size() const { return points() * (input_plane() + product_plane()); }
  static std::int64_t odd_lines(std::int64_t numbers) { return numbers + (numbers / 16 % 2 == 0 ? 16 : 0); }
};

// Nests that follow each other and have the same number of a group run strip by strip, in turns: strip k
// takes each from the rows that it has done in the strips before to done[k], so that what one writes is still
// in the cache when the next one reads it.
struct Strip {
  int group = 0;
  Axis rows = {};  // of the nest
  Extents done = {};
  // For each row of the group's last nest, and for the end: the first row that rows from there on need, and
  // the number of rows that rows before need.
  Extents first = {}, last = {};
  // Threads divide the rows of the last nest; each does all that its own rows need, also what another one
  // does, in memory of its own.
  bool apart = false;
  // Where sizes are open, in place of `done`, `first` and `last`: the number of strips, and the rows that are
  // done after k of them: all after the last one, else step·k + offset, but at least 0 and at most all.
  struct Open {
    Dim count = 0;
    std::int64_t step = 0, offset = 0;
  };
  std::optional<Open> open = {};
};
// Rows of the last nest of a group that one strip does.
std::int64_t rows_of_strip(const Strip& last);
// At usual sizes.
std::int64_t strip_count(const Strip& strip, const Sizes& sizes);

// A kernel of a user's own (intrinsic.h): what it computes, one sum over what it reads of its inputs, and C++
// that adds this sum to a row-major tensor.
struct Intrinsic {
  struct Port {
    std::string name = {};
    ElementType type = ElementType::Float;
    Extents extents = {};
  };
  std::string name = {}, graph = {}, code = {};
  std::vector<Port> inputs = {};
  Port output = {};
  std::vector<Axis> axes = {};  // of the output
  Expr value = {};              // a sum; Input k reads input k
};

// Its output's axes, then those that it sums over.
std::vector<Axis> all_axes(const Intrinsic& intrinsic);

// The innermost loops of a nest as a call of it: loops over all of its axes, in order.
struct IntrinsicCall {
  struct Factor {
    Expr read = {};     // what the nest reads
    Dims strides = {};  // between its elements, along each axis of the intrinsic's input
  };
  std::size_t intrinsic = 0;  // of the plan
  std::vector<Factor> factors = {};
};

struct Nest {
  std::string name = {};  // of the node, or nodes, that it computes
  int target = 0;
  std::vector<Axis> axes = {};
  std::vector<Index> at = {};  // the position in the target, over `axes`
  Expr value = {};             // Input k reads buffer k
  // The reduction whose axes have loops of their own; null: none, and reductions are loops inside of the
  // point.
  ExprRef reduction = nullptr;
  std::vector<Loop> loops = {};
  std::vector<AxisOfLoops> of = {};  // every axis over the loops
  Domain guard = {};                 // points of the loops that are points of the axes
  std::optional<Tile> tile = {};
  std::optional<Winograd> winograd = {};
  std::optional<Strip> strip = {};
  std::optional<IntrinsicCall> call = {};
  bool lanes = false;  // the innermost loop is sixteen elements at once, or fewer, which all reads allow
  std::vector<std::string> schedule = {};  // the lines that made the loops
};

struct Port {
  std::string name = {};
  int buffer = 0;
  bool by_sample = false;  // one for each sample of the batch
};

struct Plan {
  std::vector<Storage> buffers;
  std::vector<Nest> nests;
  std::vector<Port> inputs, outputs;
  std::vector<Intrinsic> intrinsics = {};
  Sizes sizes = {};                   // that a run is given
  std::string batch = {};             // the name of the batch's size, a parameter of a run; "": there is none
  std::int64_t workspace = 0;         // bytes
  std::int64_t thread_workspace = 0;  // bytes behind it for every thread but the first
  // The memory of a plan by sizes alone, and of the buffers that live at once, a lower bound.
  std::int64_t greedy_workspace = 0, least_workspace = 0;
  std::int64_t weights = 0;  // bytes
  // Where sizes are open: local buffers in an order in which their places can be computed. Then `workspace`,
  // and offsets of locals, are those at usual sizes.
  std::vector<int> placed = {};
  bool has_values = true;  // false: weights are sizes only, since it is timed and computes nothing

  // The name of the batch's size; "": samples are not computed one by one.
  const std::string& batch_name() const { return batch.empty() ? sizes.batch : batch; }

  Storage& buffer(int number) { return nth(buffers, number); }
  const Storage& buffer(int number) const { return nth(buffers, number); }
};

// Nests from `first` on that run strip by strip with it; 0: it runs as a whole.
std::size_t strip_length(const Plan& plan, std::size_t first);

// Whether a loop is about what is summed over.
bool is_reduced(const Nest& nest, const Loop& loop);
// Whether threads divide what a nest does.
bool is_shared(const Nest& nest);
// Its outermost loops, as many as are parallel.
std::vector<Loop> shared_loops(const Nest& nest);

// A nest whose loops are its axes, in the order of the target's strides.
void reset_loops(Nest& nest, const Plan& plan);

// Bytes that an element takes in memory.
std::int64_t stored_bytes(ElementType type);

std::string text(const Nest& nest, const Plan& plan);

}  // namespace isomer::lower
