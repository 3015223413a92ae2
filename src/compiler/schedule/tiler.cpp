#include "compiler/schedule/tiler.h"

#include <algorithm>

namespace isomer::lower {
namespace {

constexpr std::int64_t kBlockBytes = std::int64_t{384}
                                     << 10;  // of the left factor, which should stay in the second cache
constexpr std::int64_t kPiecesBytes = std::int64_t{2048} << 10;  // of a left factor that goes piece by piece
constexpr std::int64_t kPanelBytes = std::int64_t{32} << 10, kSumBytes = std::int64_t{128} << 10;
constexpr std::int64_t kGroupBytes = std::int64_t{128} << 10, kMostPanels = 4;
// Smaller images have too few tiles for the weights that have to be brought, four times as many; fewer
// channels are no vector.
constexpr std::int64_t kShortestForWinograd = 12, kFewestChannels = 16;
constexpr std::int64_t kWinogradBytes = 1'200'000;  // of transformed inputs and products
constexpr std::int64_t kFewestTiles = 42;           // that weights are brought for: three registers' height
constexpr std::int64_t kFewestProducts = 128;       // per output row: below, a tile is not worth its packing
constexpr std::int64_t kFewestOfWeights = 64;       // those are packed already
constexpr std::int64_t kPairsBytes = std::int64_t{1} << 20;     // of a group of panels in pairs
constexpr std::int64_t kHalvesBytes = std::int64_t{512} << 10;  // of a rounded block of rows, on the stack
constexpr std::int64_t kShortestInPairs = 16;                   // depth: below, most of a tile were zeros

// Tries to make one nest a tiled product. Works on a copy; the plan gets new buffers.
class Tiler {
 public:
  Tiler(Packing& packing, Exactness exactness, const std::optional<TileWish>& wish)
      : packing_(packing), numbers_(packing.numbers()), exactness_(exactness), wish_(wish) {}

  // Nests that have to run before it, and it; nullopt: it is no product, or a small one.
  std::optional<std::vector<Nest>> tile(const Nest& nest) {
    nest_ = nest;
    before_.clear();
    if (!find_product()) return std::nullopt;
    trim_windows();
    const bool may_be_winograd = wish_ ? wish_->winograd.has_value() : exactness_ < Exactness::Direct;
    if (may_be_winograd && by_winograd()) return std::vector<Nest>{std::move(nest_)};
    if (wish_ && wish_->winograd) return std::nullopt;
    split_groups();
    if (!find_product()) return std::nullopt;
    if (!is_plain(at_left(), nest_) || !is_plain(at_right())) return std::nullopt;
    if (!sort_axes()) return std::nullopt;
    pad_left();
    merge_depth();
    merge_rows();
    if (!finish()) return std::nullopt;
    std::vector<Nest> out = std::move(before_);
    out.push_back(std::move(nest_));
    return out;
  }

 private:
  const ExprNode& sum() const { return *nest_.reduction; }
  const ExprNode& left() const { return *sum().args[0]->args[left_]; }
  const ExprNode& right() const { return *sum().args[0]->args[1 - left_]; }
  const Storage& storage(int buffer) const { return packing_.storage(buffer); }
  Index address(int buffer, const std::vector<Index>& at) const { return packing_.address(buffer, at); }
  Index at_left() const { return address(left().tensor.number, left().at); }
  Index at_right() const { return address(right().tensor.number, right().at); }
  Index at_target() const { return address(nest_.target, nest_.at); }

  bool find_product() {
    nest_.reduction = main_reduction(nest_.value);
    if (!nest_.reduction) return false;
    const ExprNode& s = sum();
    if (s.reduction != Reduction::Sum || s.type != ElementType::Float || !s.domain.empty()) return false;
    const ExprNode& product = *s.args[0];
    if (product.kind != ExprNode::Kind::Apply || product.fn != Fn::Mul) return false;
    for (const ExprRef& factor : product.args) {
      if (factor->kind != ExprNode::Kind::Read) return false;
      if (storage(factor->tensor.number).type != ElementType::Float) return false;
    }
    choose_sides();
    return !wish_ || wish_->right < 0 || right().tensor.number == wish_->right;
  }
  // The right factor is the one that is a weight, or else that goes along the target's innermost axis.
  void choose_sides() {
    const ExprNode& product = *sum().args[0];
    const auto is_weight = [&](std::size_t k) {
      return storage(product.args[k]->tensor.number).kind == Storage::Kind::Weight;
    };
    left_ = 0;
    if (wish_ && wish_->right >= 0) {
      if (product.args[0]->tensor.number == wish_->right) left_ = 1;
      return;
    }
    if (is_weight(0) != is_weight(1)) {
      left_ = is_weight(0) ? 1 : 0;
      return;
    }
    const Index target = at_target();
    std::optional<Axis> innermost;
    for (const Axis& a : nest_.axes)
      if (extent(a) > 1 && stride(target, a) > 0 &&
          (!innermost || stride(target, a) < stride(target, *innermost)))
        innermost = a;
    if (innermost && mentions(*product.args[0], *innermost) && !mentions(*product.args[1], *innermost))
      left_ = 1;
  }

  // Steps of a window that never meet the image, as far dilated ones don't, are left out.
  void trim_windows() {
    const std::vector<Axis> all = sum().axes;
    for (const Axis& axis : all) {
      if (extent(axis) > 16) continue;
      const auto meets = [&](std::int64_t k) {
        const AxisMap by{{axis.id, Index(k)}};
        for (std::size_t d = 0; d < left().at.size(); ++d) {
          if (!left().at[d].mentions(axis)) continue;
          const auto range = with_axes(left().at[d], by).range();
          if (range && (range->high.at_least(0) == false || range->low.at_least(left().extents[d]) == true))
            return false;
        }
        return true;
      };
      std::int64_t low = 0, high = extent(axis);
      while (low < high && !meets(low)) ++low;
      while (low < high && !meets(high - 1)) --high;
      if (low == high || high - low == extent(axis)) continue;
      const Axis fresh = numbers_.make(high - low);
      const AxisMap by{{axis.id, Index(fresh) + Index(low)}};
      std::vector<Axis> axes = sum().axes;
      std::ranges::replace(axes, axis, fresh);
      reindex(std::move(axes), by);
    }
  }

  // A 3x3 window that moves by one, of channels that lie next to each other, over an image that is not small.
  bool by_winograd() {
    if (nest_.strip) return false;
    const ExprNode &image = left(), &weights = right();
    const Storage& s = storage(image.tensor.number);
    if (storage(weights.tensor.number).kind != Storage::Kind::Weight || sum().axes.size() != 3 ||
        image.at.size() != 4 || weights.at.size() != 4 || s.kind == Storage::Kind::Input || s.ring > 0)
      return false;
    Winograd w{.left = image.tensor.number, .left_first = left_ == 0};
    const auto channel = image.at[1].as_axis(), output = weights.at[0].as_axis();
    if (!channel || !output || !contains(sum().axes, *channel) || weights.at[1].as_axis() != channel ||
        s.strides[1] != 1)
      return false;
    const auto window = [&](std::size_t d, Axis& kept, std::int64_t& begin) {
      const auto k = weights.at[d].as_axis();
      if (!k || extent(*k) != 3 || !contains(sum().axes, *k)) return false;
      const Index rest = image.at[d] - Index(*k);
      if (rest.terms().size() != 1 || rest.terms()[0].atom.kind != Index::AtomKind::Axis ||
          !rest.terms()[0].scale.is(1))
        return false;
      kept = rest.terms()[0].atom.axis;
      begin = rest.offset().concrete();
      return contains(nest_.axes, kept);
    };
    if (!window(2, w.row, w.top) || !window(3, w.column, w.left_edge)) return false;
    w.row_axis = 2, w.column_axis = 3, w.channel_axis = 1;
    w.output = *output;
    w.channels = extent(*channel);
    const std::int64_t shortest = wish_ ? 1 : kShortestForWinograd;
    if (extent(w.row) < shortest || extent(w.column) < shortest || w.channels < kFewestChannels ||
        w.channels % 16 != 0 || extent(w.output) % 16 != 0 || extent(w.output) < 32)
      return false;
    for (const Axis& a : nest_.axes) {
      if (a == w.row || a == w.column || a == w.output) continue;
      if (mentions(weights, a)) return false;
      w.batch.push_back(a);
    }
    w.width = 32;
    w.panels = (extent(w.output) + w.width - 1) / w.width;
    w.size = wish_ ? *wish_->winograd : exactness_ == Exactness::SmallTiles ? 2 : 4;
    const std::int64_t bytes = w.points() * 4 * (w.channels + extent(w.output));  // of a tile
    const std::int64_t fit = wish_ && wish_->tiles > 0
                                 ? wish_->tiles
                                 : std::max<std::int64_t>(kFewestTiles, kWinogradBytes / bytes);
    const std::int64_t blocks = (w.all_tiles() + fit - 1) / fit;
    w.tiles = (w.all_tiles() + blocks - 1) / blocks;
    Storage scratch{.name = nest_.name + ".scratch", .type = ElementType::Float};
    scratch.extents = {w.scratch_size()};
    scratch.strides = {1};
    scratch.size = scratch.extents[0];
    w.scratch = add(std::move(scratch));
    Storage zeros{.kind = Storage::Kind::Weight,
                  .name = "zeros",
                  .type = ElementType::Float,
                  .extents = {w.channels},
                  .strides = {1},
                  .size = w.channels};
    zeros.value = Tensor::of(ElementType::Float, {w.channels},
                             std::vector<float>(static_cast<std::size_t>(w.channels)));
    w.zeros = add(std::move(zeros));
    w.weights = add(transformed(storage(weights.tensor.number), w, packing_.plan().has_values));
    nest_.winograd = w;
    return true;
  }
  // An output axis of which positions see the quotient by the size of a group becomes two.
  void split_groups() {
    for (int round = 0; round < 4; ++round) {
      const auto found = quotient();
      if (!found) return;
      const auto [axis, divisor] = *found;
      const Axis outer = numbers_.make(extent(axis) / divisor), inner = numbers_.make(divisor);
      const AxisMap by{{axis.id, Dim(divisor) * Index(outer) + Index(inner)}};
      std::vector<Axis> axes;
      for (const Axis& a : nest_.axes) {
        if (a == axis) axes.insert(axes.end(), {outer, inner});
        else axes.push_back(a);
      }
      nest_.axes = axes;
      for (Index& i : nest_.at) i = with_axes(i, by);
      nest_.value = with_axes(nest_.value, by, numbers_);
      nest_.reduction = main_reduction(nest_.value);
    }
  }
  std::optional<std::pair<Axis, std::int64_t>> quotient() const {
    for (const ExprNode* read : {&left(), &right()})
      for (const Index& i : read->at)
        for (const Index::Term& t : i.terms()) {
          if (t.atom.kind == Index::AtomKind::Axis) continue;
          const auto axis = t.atom.inner->as_axis();
          const auto divisor = t.atom.divisor.value();
          if (axis && divisor && *divisor > 0 && contains(nest_.axes, *axis) && extent(*axis) % *divisor == 0)
            return std::pair{*axis, *divisor};
        }
    return std::nullopt;
  }

  bool sort_axes() {
    const Index target = at_target();
    std::vector<Axis> columns;
    rows_.clear();
    batch_.clear();
    for (const Axis& a : nest_.axes) {
      const bool in_left = mentions(left(), a), in_right = mentions(right(), a);
      const bool in_strips = nest_.strip && a == nest_.strip->rows;
      if (in_strips || (in_left && in_right)) batch_.push_back(a);
      else if (in_right) columns.push_back(a);
      else if (extent(a) == 1) batch_.push_back(a);
      else if (in_left) rows_.push_back(a);
      else return false;
    }
    for (const Axis& a : sum().axes)
      if (extent(a) > 1 && (!mentions(left(), a) || !mentions(right(), a))) return false;
    if (columns.empty()) return false;
    std::ranges::stable_sort(columns, [&](const Axis& a, const Axis& b) {
      if ((extent(a) == 1) != (extent(b) == 1)) return extent(a) != 1;
      return stride(target, a) < stride(target, b);
    });
    for (std::size_t k = 1; k < columns.size(); ++k) batch_.push_back(columns[k]);
    column_ = columns[0];
    std::int64_t depth = 1, height = 1;
    for (const Axis& a : sum().axes) depth *= extent(a);
    for (const Axis& a : rows_) height *= extent(a);
    const bool packs = storage(right().tensor.number).kind != Storage::Kind::Weight;
    if (wish_) return true;
    if (extent(column_) < 8 || depth * extent(column_) < (packs ? kFewestProducts : kFewestOfWeights))
      return false;
    return !packs || height >= 4;
  }

  // Reads outside of the left tensor are reads of a larger one with zeros around it.
  void pad_left() {
    const ExprNode read_left = left();
    Storage padded = storage(read_left.tensor.number);
    std::vector<Index> at = read_left.at, source;
    bool is_padded = false;
    std::vector<Axis> axes;
    for (std::size_t d = 0; d < at.size(); ++d) {
      std::int64_t low = 0;
      if (!stays_inside(storage(read_left.tensor.number), d, at[d])) {
        const auto range = at[d].range();
        low = std::min<std::int64_t>(0, range->low.concrete());
        padded.extents[d] = std::max(padded.extents[d], range->high.concrete() + 1) - low;
        at[d] = at[d] - Index(low);
        is_padded = true;
      }
      axes.push_back(numbers_.make(padded.extents[d]));
      source.push_back(Index(axes.back()) + Index(low));
    }
    if (!is_padded) return;
    std::vector<int> order = order_of(padded);
    if (padded.kind != Storage::Kind::Local && order.size() >= 3)
      std::rotate(order.begin() + 1, order.begin() + 2, order.end());
    padded.low = padded.high = {};
    lay_out(padded, order);
    padded.kind = Storage::Kind::Local;
    padded.name += ".padded";
    padded.value = {};
    const int buffer = add(std::move(padded));
    Nest copy{.name = nest_.name + ", padded", .target = buffer, .axes = axes, .at = to_indices(axes)};
    copy.value = read(read_left.tensor, read_left.type, read_left.extents, source);
    before_.push_back(std::move(copy));
    replace_left(read({.kind = TensorRef::Kind::Input, .number = buffer}, read_left.type,
                      to_dims(storage(buffer).extents), at));
  }
  void replace_left(const Expr& by) {
    ExprNode product = *sum().args[0];
    product.args[left_] = by.ref();
    ExprNode changed = sum();
    changed.args[0] = std::make_shared<const ExprNode>(std::move(product));
    replace_reduction(nest_, std::move(changed));
  }
  int add(Storage s) { return packing_.add(std::move(s)); }

  // Reduced axes, innermost in the left factor first; those that continue each other there become one.
  void merge_depth() {
    bool merged = true;
    while (merged) {
      merged = false;
      const Index l = at_left();
      for (const Axis& outer : sum().axes) {
        for (const Axis& inner : sum().axes) {
          if (outer == inner || stride(l, outer) != extent(inner) * stride(l, inner)) continue;
          fuse_reduced(outer, inner);
          merged = true;
          break;
        }
        if (merged) break;
      }
    }
  }
  void fuse_reduced(const Axis& outer, const Axis& inner) {
    const Axis fused = numbers_.make(extent(outer) * extent(inner));
    std::vector<Axis> axes = sum().axes;
    std::erase_if(axes, [&](const Axis& a) { return a == outer || a == inner; });
    axes.push_back(fused);
    reindex(axes, {{outer.id, Index::floor(Index(fused), inner.extent)},
                   {inner.id, Index::mod(Index(fused), inner.extent)}});
  }
  // The same sum over other axes.
  void reindex(std::vector<Axis> axes, const AxisMap& by) {
    ExprNode changed = sum();
    changed.axes = std::move(axes);
    ExprNode product = *changed.args[0];
    for (ExprRef& factor : product.args) {
      ExprNode f = *factor;
      for (Index& i : f.at) i = with_axes(i, by);
      factor = std::make_shared<const ExprNode>(std::move(f));
    }
    changed.args[0] = std::make_shared<const ExprNode>(std::move(product));
    replace_reduction(nest_, std::move(changed));
  }

  void merge_rows() {
    bool merged = true;
    while (merged) {
      merged = false;
      const Index l = at_left(), target = at_target();
      for (const Axis& outer : rows_) {
        for (const Axis& inner : rows_) {
          if (outer == inner || stride(l, outer) != extent(inner) * stride(l, inner) ||
              stride(target, outer) != extent(inner) * stride(target, inner))
            continue;
          fuse_rows(Axis(outer), Axis(inner));
          merged = true;
          break;
        }
        if (merged) break;
      }
    }
    const Index l = at_left();
    std::ranges::stable_sort(rows_,
                             [&](const Axis& a, const Axis& b) { return stride(l, a) > stride(l, b); });
    // The row axis of tiles: a long one, if possible the innermost.
    const auto is_long = [](const Axis& a) { return extent(a) >= 8; };
    auto at = std::find_if(rows_.rbegin(), rows_.rend(), is_long);
    if (at == rows_.rend())
      at = std::max_element(rows_.rbegin(), rows_.rend(),
                            [](const Axis& a, const Axis& b) { return extent(a) < extent(b); });
    if (rows_.empty()) {
      row_ = numbers_.make(1);
      nest_.axes.push_back(row_);
    } else {
      row_ = *at;
      rows_.erase(std::next(at).base());
    }
  }
  void fuse_rows(const Axis& outer, const Axis& inner) {
    const Axis fused = numbers_.make(extent(outer) * extent(inner));
    const AxisMap by{{outer.id, Index::floor(Index(fused), inner.extent)},
                     {inner.id, Index::mod(Index(fused), inner.extent)}};
    for (auto* axes : {&nest_.axes, &rows_}) {
      std::erase_if(*axes, [&](const Axis& a) { return a == outer || a == inner; });
      axes->push_back(fused);
    }
    for (Index& i : nest_.at) i = with_axes(i, by);
    nest_.value = with_axes(nest_.value, by, numbers_);
    nest_.reduction = main_reduction(nest_.value);
  }

  bool may_be_in_pairs(const std::vector<Axis>& depth) const {
    std::int64_t steps = paired_depth(extent(depth.back()));
    for (std::size_t k = 0; k + 1 < depth.size(); ++k) steps *= extent(depth[k]);
    return exactness_ == Exactness::Bfloat16 && !wish_ && stride(at_left(), depth.back()) == 1 &&
           extent(depth.back()) >= kShortestInPairs && (is_one_row() || 2 * 16 * steps <= kHalvesBytes) &&
           storage(right().tensor.number).kind == Storage::Kind::Weight;
  }
  bool is_one_row() const { return rows_.empty() && extent(row_) == 1; }
  // The widest of those with the fewest columns that nobody wants.
  static std::int64_t paired_width(std::int64_t columns) {
    if (columns <= 64) return (columns + 15) / 16 * 16;
    const auto all = [&](std::int64_t width) { return (columns + width - 1) / width * width; };
    return std::min({64, 48, 32}, [&](std::int64_t a, std::int64_t b) { return all(a) < all(b); });
  }
  static std::int64_t panel_width(std::int64_t columns, std::int64_t rows) {
    if (columns <= 16) return 16;
    if (rows == 1) return columns >= 64 ? 64 : 32;
    if (columns % 32 == 0) return 32;
    // The last panel is as wide as what is left; one vector of it would wait for its left factor.
    const std::int64_t vectors = (columns + 15) / 16;
    return columns % 48 == 0 || (vectors % 2 == 1 && vectors % 3 != 1) ? 48 : 32;
  }

  bool finish() {
    const Index l = at_left();
    if (!is_plain(l, nest_)) return false;
    std::vector<Axis> depth = sum().axes;
    std::ranges::stable_sort(depth,
                             [&](const Axis& a, const Axis& b) { return stride(l, a) > stride(l, b); });
    std::erase_if(depth, [](const Axis& a) { return extent(a) == 1; });
    if (depth.size() > 3) return false;
    if (depth.empty()) return false;
    const bool in_pairs = may_be_in_pairs(depth);
    const std::int64_t width = wish_ && wish_->columns > 0 ? wish_->columns
                               : in_pairs                  ? paired_width(extent(column_))
                                                           : panel_width(extent(column_), extent(row_));
    Tile tile{.rows = row_, .columns = column_, .depth = depth.back(), .width = width};
    tile.left = left().tensor.number;
    tile.left_first = left_ == 0;
    tile.in_pairs = in_pairs;
    tile.outer.assign(depth.begin(), depth.end() - 1);
    tile.outer_rows = rows_;
    tile.batch = batch_;
    // What one more row brings into the cache; windows of neighbouring rows overlap.
    std::int64_t step = 4 * std::max<std::int64_t>(1, stride(l, rows_.empty() ? row_ : rows_.back()));
    if (!rows_.empty())
      step = std::min(step, 4 * 3 * extent(row_) * std::max<std::int64_t>(1, stride(l, row_)));
    tile.block = std::max<std::int64_t>(1, kBlockBytes / step);
    const std::int64_t all = extent(rows_.empty() ? row_ : rows_.back());
    const std::int64_t blocks = std::max<std::int64_t>(1, (all + tile.block / 2) / tile.block);
    tile.block = (all + blocks - 1) / blocks;
    choose_group(tile, depth);
    choose_chunk(tile, depth, 4 * std::max<std::int64_t>(1, stride(l, row_)));
    if (wish_) take_sizes(tile, all, extent(depth[0]));
    if (!pack(tile)) return false;
    nest_.tile = tile;
    nest_.loops.clear();
    nest_.of.clear();
    return true;
  }

  void take_sizes(Tile& tile, std::int64_t rows, std::int64_t depth) const {
    const std::int64_t panels = (extent(column_) + tile.width - 1) / tile.width;
    if (wish_->block > 0) tile.block = std::min(wish_->block, rows);
    if (wish_->group > 0) tile.group = std::min(wish_->group, panels);
    if (wish_->pieces) tile.chunk = *wish_->pieces < depth ? *wish_->pieces : 0;
  }
  void choose_group(Tile& tile, const std::vector<Axis>& depth) const {
    std::int64_t steps = 1;
    for (const Axis& a : depth) steps *= extent(a);
    const std::int64_t panels = (extent(column_) + tile.width - 1) / tile.width;
    if (tile.in_pairs) {
      const std::int64_t bytes =
          2 * tile.width * steps / extent(depth.back()) * paired_depth(extent(depth.back()));
      tile.group = std::clamp<std::int64_t>(kPairsBytes / bytes, 1, panels);
      return;
    }
    const std::int64_t piece = std::min(4 * tile.width * steps, kPanelBytes);
    tile.group = std::clamp<std::int64_t>(kGroupBytes / piece, 1, std::min(panels, kMostPanels));
  }
  // A panel that is too long for the caches goes piece by piece, over a block of rows whose sums wait in
  // memory.
  void choose_chunk(Tile& tile, const std::vector<Axis>& depth, std::int64_t left_row) const {
    if (tile.in_pairs) return;
    std::int64_t step = 4 * tile.width;  // bytes of the panel for one step of the outermost reduced axis
    for (std::size_t k = 1; k < depth.size(); ++k) step *= extent(depth[k]);
    const std::int64_t all = extent(depth[0]), chunk = std::max<std::int64_t>(1, kPanelBytes / step);
    if (all * step < 2 * kPanelBytes || chunk >= all) return;
    const std::int64_t row_bytes = 4 * tile.width * tile.group * (rows_.empty() ? 1 : extent(row_));
    std::int64_t block = std::min(tile.block, kSumBytes / row_bytes);
    // Plain rows: equal blocks, and few, since each brings the panels anew.
    if (rows_.empty()) {
      const std::int64_t rows = extent(row_), most = std::min(kSumBytes / row_bytes, kPiecesBytes / left_row);
      const std::int64_t blocks =
          (rows + std::max<std::int64_t>(28, most) - 1) / std::max<std::int64_t>(28, most);
      block = (rows + blocks - 1) / blocks;
    }
    if (block < 1 || block * (rows_.empty() ? 1 : extent(row_)) < 28) return;
    tile.block = block;
    const std::int64_t pieces = (all + chunk - 1) / chunk;
    tile.chunk = (all + pieces - 1) / pieces;
  }

  // right[batch..., panel, outer..., depth, column]
  bool pack(Tile& tile) {
    const ExprNode factor = right();
    std::vector<Axis> kept, axes;
    for (const Axis& a : batch_)
      if (mentions(factor, a)) kept.push_back(a);
    AxisMap by;
    const auto copy = [&](const Axis& a) {
      axes.push_back(numbers_.make(a.extent));
      by[a.id] = Index(axes.back());
    };
    for (const Axis& a : kept) copy(a);
    const std::int64_t panels = (extent(column_) + tile.width - 1) / tile.width;
    const Axis panel = numbers_.make(panels), lane = numbers_.make(tile.width);
    axes.push_back(panel);
    for (const Axis& a : tile.outer) copy(a);
    copy(tile.depth);
    axes.push_back(lane);
    const Index column = Dim(tile.width) * Index(panel) + Index(lane);
    by[column_.id] = column;
    for (const Axis& a : sum().axes)
      if (!by.contains(a.id)) by[a.id] = Index(0);
    Expr value = with_axes(Expr(sum().args[0]->args[1 - left_]), by, numbers_);
    if (extent(column_) % tile.width != 0)
      value = cases({{between(0, column, column_.extent), value}}, number(ElementType::Float, 0));
    tile.kept = kept;
    tile.packed_axes = axes;
    tile.packed_value = value;
    const std::string name = storage(factor.tensor.number).name + ".packed";
    if (storage(factor.tensor.number).kind == Storage::Kind::Weight) {
      const auto right = packing_.computed(value, axes, name, tile.in_pairs);
      if (right) tile.right = *right;
      return right.has_value();
    }
    Storage packed{.kind = Storage::Kind::Local, .name = name, .type = ElementType::Float};
    for (const Axis& a : axes) packed.extents.push_back(extent(a));
    packed.strides = row_major(packed.extents);
    packed.size = *element_count(packed.extents);
    tile.right = add(std::move(packed));
    before_.push_back({.name = nest_.name + ", packed",
                       .target = tile.right,
                       .axes = axes,
                       .at = to_indices(axes),
                       .value = value});
    return true;
  }

  Packing& packing_;
  AxisNumbers& numbers_;
  Exactness exactness_;
  const std::optional<TileWish>& wish_;
  Nest nest_;
  std::vector<Nest> before_;
  std::size_t left_ = 0;
  std::vector<Axis> rows_, batch_;
  Axis row_, column_;
};

}  // namespace

std::optional<std::vector<Nest>> tiled(const Nest& nest, Packing& packing, Exactness exactness,
                                       const std::optional<TileWish>& wish) {
  return Tiler(packing, exactness, wish).tile(nest);
}

}  // namespace isomer::lower
