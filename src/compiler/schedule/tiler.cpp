#include "compiler/schedule/tiler.h"

#include <algorithm>

#include "compiler/schedule/bfloat16.h"
#include "compiler/schedule/product_nest.h"
#include "compiler/schedule/tile_sizes.h"
#include "compiler/schedule/winograd.h"

namespace isomer::lower {
namespace {

constexpr std::int64_t kFewestProducts = 128;  // per output row: below, a tile is not worth its packing
constexpr std::int64_t kFewestOfWeights = 64;  // those are packed already
// With fewer columns a panel is mostly zeros; if sums are long, that is still faster than sums one by one.
constexpr std::int64_t kFewestColumns = 8, kFewestInGroup = 3, kLongSum = 32;

// Tries to make one nest a tiled product. Works on a copy; the plan gets new buffers.
class Tiler {
 public:
  Tiler(const Nest& nest, Packing& packing, Exactness exactness, const std::optional<TileRequest>& request)
      : product_(nest, packing, request ? request->right : -1),
        packing_(packing),
        numbers_(packing.numbers()),
        exactness_(exactness),
        request_(request) {}

  std::optional<std::vector<Nest>> tile() {
    if (!product_.find()) return std::nullopt;
    product_.trim_windows();
    const bool may_be_winograd = request_ ? request_->winograd.has_value() : exactness_ < Exactness::Direct;
    if (may_be_winograd && take_winograd(product_, packing_, exactness_, request_))
      return std::vector<Nest>{std::move(product_.nest())};
    if (request_ && request_->winograd) return std::nullopt;
    product_.split_groups();
    if (!product_.find()) return std::nullopt;
    if (!is_plain(product_.at_left(), product_.nest()) || !is_plain(product_.at_right())) return std::nullopt;
    if (!sort_axes() || !is_worth()) return std::nullopt;
    if (!pad_left()) return std::nullopt;
    product_.merge_depth();
    merge_rows();
    choose_row();
    if (!finish()) return std::nullopt;
    std::vector<Nest> out = std::move(before_);
    out.push_back(std::move(product_.nest()));
    return out;
  }

 private:
  std::int64_t usual(const auto& what) const { return packing_.usual(what); }
  // Longest steps first.
  void sort_by_steps(std::vector<Axis>& axes, const Index& address) const {
    std::ranges::stable_sort(axes, [&](const Axis& a, const Axis& b) {
      return usual(stride(address, a)) > usual(stride(address, b));
    });
  }
  const ExprNode& left() const { return product_.left(); }
  const ExprNode& right() const { return product_.right(); }

  // Which axes of the nest are rows, columns and batch. False: it is no product of two matrices.
  bool sort_axes() {
    const Nest& nest = product_.nest();
    const Index target = product_.at_target();
    std::vector<Axis> columns;
    for (const Axis& a : nest.axes) {
      const bool in_left = mentions(left(), a), in_right = mentions(right(), a);
      const bool in_strips = nest.strip && a == nest.strip->rows;
      if (in_strips || (in_left && in_right)) batch_.push_back(a);
      else if (in_right) columns.push_back(a);
      else if (a.extent.is(1)) batch_.push_back(a);
      else if (in_left) rows_.push_back(a);
      else return false;
    }
    for (const Axis& a : product_.sum().axes)
      if (!a.extent.is(0) && !a.extent.is(1) && (!mentions(left(), a) || !mentions(right(), a))) return false;
    if (columns.empty()) return false;
    std::ranges::stable_sort(columns, [&](const Axis& a, const Axis& b) {
      if (a.extent.is(1) != b.extent.is(1)) return !a.extent.is(1);
      return usual(stride(target, a)) < usual(stride(target, b));
    });
    for (std::size_t k = 1; k < columns.size(); ++k) batch_.push_back(columns[k]);
    column_ = columns[0];
    return true;
  }

  bool is_worth() const {
    if (request_) return true;
    std::int64_t depth = 1, height = 1;
    for (const Axis& a : product_.sum().axes) depth *= usual(a);
    for (const Axis& a : rows_) height *= usual(a);
    const bool packs = product_.storage_of(right()).kind != Storage::Kind::Weight;
    if (usual(column_) < kFewestColumns) {
      const bool has_groups = std::ranges::any_of(
          batch_, [&](const Axis& a) { return usual(a) > 1 && mentions(left(), a) && mentions(right(), a); });
      return !packs && depth >= kLongSum && (!has_groups || usual(column_) >= kFewestInGroup);
    }
    return depth * usual(column_) >= (packs ? kFewestProducts : kFewestOfWeights) && (!packs || height >= 4);
  }

  // Reads outside of the left tensor are reads of a larger one with zeros around it. False: how far outside
  // is not known.
  bool pad_left() {
    const ExprNode read_left = left();
    Storage padded = product_.storage_of(read_left);
    std::vector<Index> at = read_left.at, source;
    bool is_padded = false;
    std::vector<Axis> axes;
    for (std::size_t d = 0; d < at.size(); ++d) {
      std::int64_t low = 0;
      if (!stays_inside(product_.storage_of(read_left), d, at[d])) {
        const auto range = at[d].range();
        if (!range || !range->low.is_concrete()) return false;
        low = std::min<std::int64_t>(0, range->low.concrete());
        // The part that is read, if it is open whether that is less than the tensor.
        const Dim end = range->high + Dim(1), both = Dim::max(padded.extents[d], end);
        padded.extents[d] = (both.is_concrete() || both == padded.extents[d] ? both : end) - Dim(low);
        at[d] = at[d] - Index(low);
        is_padded = true;
      }
      axes.push_back(numbers_.make(padded.extents[d]));
      source.push_back(Index(axes.back()) + Index(low));
    }
    if (!is_padded) return true;
    std::vector<int> order = order_of(padded, packing_.plan().sizes);
    if (padded.kind != Storage::Kind::Local && order.size() >= 3)
      std::rotate(order.begin() + 1, order.begin() + 2, order.end());
    padded.low = padded.high = {};
    lay_out(padded, order);
    padded.kind = Storage::Kind::Local;
    padded.name += ".padded";
    padded.value = {};
    const int buffer = packing_.add(std::move(padded));
    add_before("padded", buffer, axes, read(read_left.tensor, read_left.type, read_left.extents, source));
    product_.replace_left(read({.kind = TensorRef::Kind::Input, .number = buffer}, read_left.type,
                               packing_.storage(buffer).extents, at));
    return true;
  }
  // A nest that has to run before.
  void add_before(const std::string& what, int target, const std::vector<Axis>& axes, const Expr& value) {
    before_.push_back({.name = product_.nest().name + ", " + what,
                       .target = target,
                       .axes = axes,
                       .at = to_indices(axes),
                       .value = value});
  }

  // Rows that continue each other, in the left factor and in the target, become one.
  void merge_rows() {
    bool merged = true;
    while (merged) {
      merged = false;
      const Index l = product_.at_left(), target = product_.at_target();
      for (const Axis& outer : rows_) {
        for (const Axis& inner : rows_) {
          if (outer == inner || stride(l, outer) != inner.extent * stride(l, inner) ||
              stride(target, outer) != inner.extent * stride(target, inner))
            continue;
          fuse_rows(Axis(outer), Axis(inner));
          merged = true;
          break;
        }
        if (merged) break;
      }
    }
  }
  void fuse_rows(const Axis& outer, const Axis& inner) {
    const Axis fused = product_.fuse(outer, inner);
    std::erase_if(rows_, [&](const Axis& a) { return a == outer || a == inner; });
    rows_.push_back(fused);
  }
  // The row axis of tiles: a long one, if possible the innermost.
  void choose_row() {
    const Index l = product_.at_left();
    sort_by_steps(rows_, l);
    if (rows_.empty()) {
      row_ = numbers_.make(1);
      product_.nest().axes.push_back(row_);
      return;
    }
    const auto is_long = [&](const Axis& a) { return usual(a) >= 8; };
    auto at = std::find_if(rows_.rbegin(), rows_.rend(), is_long);
    if (at == rows_.rend())
      at = std::max_element(rows_.rbegin(), rows_.rend(),
                            [&](const Axis& a, const Axis& b) { return usual(a) < usual(b); });
    row_ = *at;
    rows_.erase(std::next(at).base());
  }

  bool finish() {
    const Index l = product_.at_left();
    if (!is_plain(l, product_.nest())) return false;
    std::vector<Axis> depth = product_.sum().axes;
    sort_by_steps(depth, l);
    std::erase_if(depth, [](const Axis& a) { return a.extent.is(1); });
    if (depth.size() > 3 || depth.empty()) return false;
    Tile tile{.rows = row_, .columns = column_, .depth = depth.back(), .batch = batch_, .outer_rows = rows_};
    tile.outer.assign(depth.begin(), depth.end() - 1);
    tile.left = left().tensor.number;
    tile.left_first = product_.is_left_first();
    const auto pairs = pairs_for(depth, stride(l, depth.back()));
    choose_sizes(tile, l, pairs);
    if (!pack(tile, pairs.has_value())) return false;
    Nest& nest = product_.nest();
    nest.tile = tile;
    nest.loops.clear();
    nest.of.clear();
    return true;
  }
  // For --precision bf16; nullopt: the product is of float32.
  std::optional<PairedSizes> pairs_for(const std::vector<Axis>& depth, const Dim& step) const {
    if (!is_known(depth) || !is_known({column_}) || !step.is_concrete() ||
        exactness_ != Exactness::Bfloat16 || request_ ||
        product_.storage_of(right()).kind != Storage::Kind::Weight)
      return std::nullopt;
    return choose_pairs(depth, step.concrete(), rows_.empty() && row_.extent.is(1), extent(column_));
  }
  void choose_sizes(Tile& tile, const Index& at_left, const std::optional<PairedSizes>& pairs) const {
    tile.width = pairs                               ? pairs->width
                 : request_ && request_->columns > 0 ? request_->columns
                                                     : panel_width(usual(column_), usual(row_));
    const Sizes& sizes = packing_.plan().sizes;
    choose_block(tile, at_left, sizes);
    if (pairs) {
      tile.group = pairs->group;
      return;
    }
    choose_group(tile, sizes);
    choose_pieces(tile, at_left, sizes);
    if (request_) take_sizes(tile, *request_, sizes);
  }

  // right[batch..., panel, outer..., depth, column]
  bool pack(Tile& tile, bool in_pairs) {
    const ExprNode& factor = right();
    for (const Axis& a : batch_)
      if (mentions(factor, a)) tile.kept.push_back(a);
    std::vector<Axis>& axes = tile.packed_axes;
    AxisMap by;
    const auto copy = [&](const Axis& a) {
      axes.push_back(numbers_.make(a.extent));
      by[a.id] = Index(axes.back());
    };
    for (const Axis& a : tile.kept) copy(a);
    const Dim panels = Dim::floor(column_.extent + Dim(tile.width - 1), tile.width);
    const Axis panel = numbers_.make(panels), lane = numbers_.make(tile.width);
    axes.push_back(panel);
    for (const Axis& a : tile.outer) copy(a);
    copy(tile.depth);
    axes.push_back(lane);
    const Index column = Dim(tile.width) * Index(panel) + Index(lane);
    by[column_.id] = column;
    for (const Axis& a : product_.sum().axes)
      if (!by.contains(a.id)) by[a.id] = Index(0);
    tile.packed_value = with_axes(Expr(product_.right_ref()), by, numbers_);
    if (!Dim::mod(column_.extent, tile.width).is(0))
      tile.packed_value =
          cases({{between(0, column, column_.extent), tile.packed_value}}, number(ElementType::Float, 0));
    return add_packed(tile, product_.storage_of(factor), in_pairs);
  }

  // Weights are packed now, others by a nest that runs before.
  bool add_packed(Tile& tile, const Storage& factor, bool in_pairs) {
    const std::string name = factor.name + ".packed";
    if (factor.kind == Storage::Kind::Weight) {
      auto packed = packing_.compute(tile.packed_value, tile.packed_axes, name);
      if (packed) tile.right = packing_.add(in_pairs ? to_pairs(std::move(*packed)) : std::move(*packed));
      return packed.has_value();
    }
    Storage packed{.kind = Storage::Kind::Local, .name = name, .type = ElementType::Float};
    for (const Axis& a : tile.packed_axes) packed.extents.push_back(a.extent);
    packed.strides = row_major(packed.extents);
    packed.size = product(packed.extents);
    tile.right = packing_.add(std::move(packed));
    add_before("packed", tile.right, tile.packed_axes, tile.packed_value);
    return true;
  }

  ProductNest product_;
  Packing& packing_;
  AxisNumbers& numbers_;
  Exactness exactness_;
  const std::optional<TileRequest>& request_;
  std::vector<Nest> before_;
  std::vector<Axis> rows_, batch_;
  Axis row_, column_;
};

}  // namespace

std::optional<std::vector<Nest>> tile_nest(const Nest& nest, Packing& packing, Exactness exactness,
                                           const std::optional<TileRequest>& request) {
  return Tiler(nest, packing, exactness, request).tile();
}

}  // namespace isomer::lower
