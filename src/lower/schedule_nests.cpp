#include <algorithm>
#include <array>
#include <cstring>

#include "eval/program.h"
#include "lower/layout.h"

namespace isomer::lower {
namespace {

constexpr std::int64_t kBlockBytes = std::int64_t{384}
                                     << 10;  // of the left factor, which should stay in the second cache
constexpr std::int64_t kPanelBytes = std::int64_t{128} << 10, kSumBytes = std::int64_t{64} << 10;
// Smaller images have too few tiles for the weights that have to be brought, four times as many.
constexpr std::int64_t kShortestForWinograd = 12;
constexpr std::int64_t kWinogradBytes = 1'200'000;  // of transformed inputs and products
constexpr std::int64_t kFewestProducts = 128;       // per output row: below, a tile is not worth its packing

bool is_plain(const Index& index) {
  return std::ranges::all_of(index.terms(),
                             [](const Index::Term& t) { return t.atom.kind == Index::AtomKind::Axis; });
}

std::int64_t extent(const Axis& a) { return a.extent.concrete(); }

std::int64_t stride(const Index& address, const Axis& axis) {
  for (const Index::Term& t : address.terms())
    if (t.atom.kind == Index::AtomKind::Axis && t.atom.axis == axis) return t.scale.concrete();
  return 0;
}

bool contains(const std::vector<Axis>& axes, const Axis& axis) {
  return std::ranges::find(axes, axis) != axes.end();
}

// Tries to make one nest a tiled product. Works on a copy; `plan` gets new buffers and nests only at the end.
class Tiler {
 public:
  Tiler(Plan& plan, AxisNumbers& numbers) : plan_(plan), numbers_(numbers) {}

  // Nests that have to run before it, and it; nullopt: it is no product, or a small one.
  std::optional<std::vector<Nest>> tile(const Nest& nest) {
    nest_ = nest;
    before_.clear();
    if (!find_product()) return std::nullopt;
    trim_windows();
    if (by_winograd()) return std::vector<Nest>{std::move(nest_)};
    split_groups();
    if (!find_product()) return std::nullopt;
    if (!is_plain(at_left()) || !is_plain(at_right())) return std::nullopt;
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
  const Storage& storage(int buffer) const { return plan_.buffers[static_cast<std::size_t>(buffer)]; }
  Index address(int buffer, const std::vector<Index>& at) const {
    Index out;
    for (std::size_t d = 0; d < at.size(); ++d)
      if (storage(buffer).extents[d] != 1) out = out + Dim(storage(buffer).strides[d]) * at[d];
    return out.recombined();
  }
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
    return true;
  }
  // The right factor is the one that is a weight, or else that goes along the target's innermost axis.
  void choose_sides() {
    const ExprNode& product = *sum().args[0];
    const auto is_weight = [&](std::size_t k) {
      return storage(product.args[k]->tensor.number).kind == Storage::Kind::Weight;
    };
    left_ = 0;
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
    const ExprNode &image = left(), &weights = right();
    const Storage& s = storage(image.tensor.number);
    if (storage(weights.tensor.number).kind != Storage::Kind::Weight || sum().axes.size() != 3 ||
        image.at.size() != 4 || weights.at.size() != 4 || s.kind == Storage::Kind::Input)
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
    if (extent(w.row) < kShortestForWinograd || extent(w.column) < kShortestForWinograd || w.channels < 32 ||
        w.channels % 16 != 0 || extent(w.output) % 16 != 0 || extent(w.output) < 32)
      return false;
    for (const Axis& a : nest_.axes) {
      if (a == w.row || a == w.column || a == w.output) continue;
      if (mentions(weights, a)) return false;
      w.batch.push_back(a);
    }
    w.width = 32;
    w.panels = (extent(w.output) + w.width - 1) / w.width;
    const std::int64_t all = ((extent(w.row) + 3) / 4) * ((extent(w.column) + 3) / 4);
    const std::int64_t fit = kWinogradBytes / (36 * 4 * (w.channels + extent(w.output)));
    const std::int64_t blocks = (all + std::max<std::int64_t>(42, fit) - 1) / std::max<std::int64_t>(42, fit);
    w.tiles = (all + blocks - 1) / blocks;
    Storage scratch{.name = nest_.name + ".scratch", .type = ElementType::Float};
    scratch.extents = {36 * w.tiles * (w.channels + 16) + 36 * w.tiles * w.panels * w.width};
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
    w.weights = add(transformed(storage(weights.tensor.number), w));
    nest_.winograd = w;
    return true;
  }
  // G·g·Gᵀ of every kernel, in float64, as u[6·i + j][panel][channel][lane].
  static Storage transformed(const Storage& weights, const Winograd& w) {
    const double a = 2.0 / 3, b = 3.0 / 2;
    const double na = 2 * a * a * (a * a - b * b), nb = 2 * b * b * (b * b - a * a);
    const std::array<std::array<double, 3>, 6> g{{{1 / (a * a * b * b), 0, 0},
                                                  {1 / na, a / na, a * a / na},
                                                  {1 / na, -a / na, a * a / na},
                                                  {1 / nb, b / nb, b * b / nb},
                                                  {1 / nb, -b / nb, b * b / nb},
                                                  {0, 0, 1}}};
    Storage out{
        .kind = Storage::Kind::Weight, .name = weights.name + ".transformed", .type = ElementType::Float};
    out.extents = {36, w.panels, w.channels, w.width};
    out.strides = row_major(out.extents);
    out.size = *element_count(out.extents);
    Buffer buffer(static_cast<std::size_t>(out.size) * sizeof(float));
    auto* u = reinterpret_cast<float*>(buffer.data());
    const auto k = weights.value.as<float>();
    const std::int64_t outputs = weights.extents[0], channels = weights.extents[1];
    for (std::int64_t o = 0; o < outputs; ++o)
      for (std::int64_t c = 0; c < channels; ++c) {
        const float* kernel = k.data() + (o * channels + c) * 9;
        for (std::size_t i = 0; i < 6; ++i)
          for (std::size_t j = 0; j < 6; ++j) {
            double v = 0;
            for (std::size_t p = 0; p < 3; ++p)
              for (std::size_t q = 0; q < 3; ++q)
                v += g[i][p] * static_cast<double>(kernel[3 * p + q]) * g[j][q];
            const std::int64_t plane = static_cast<std::int64_t>(6 * i + j) * w.panels + o / w.width;
            u[(plane * channels + c) * w.width + o % w.width] = static_cast<float>(v);
          }
      }
    out.value = Tensor(ElementType::Float, out.extents, std::move(buffer).freeze());
    return out;
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
    const Index l = at_left(), r = at_right(), target = at_target();
    rows_.clear();
    columns_.clear();
    batch_.clear();
    for (const Axis& a : nest_.axes) {
      const bool in_left = mentions(left(), a), in_right = mentions(right(), a);
      if (in_left && in_right) batch_.push_back(a);
      else if (in_right) columns_.push_back(a);
      else if (in_left) rows_.push_back(a);
      else if (extent(a) == 1) batch_.push_back(a);
      else return false;
    }
    for (const Axis& a : sum().axes)
      if (extent(a) > 1 && (!mentions(left(), a) || !mentions(right(), a))) return false;
    if (columns_.empty()) return false;
    std::ranges::stable_sort(columns_, [&](const Axis& a, const Axis& b) {
      if ((extent(a) == 1) != (extent(b) == 1)) return extent(a) != 1;
      return stride(target, a) < stride(target, b);
    });
    for (std::size_t k = 1; k < columns_.size(); ++k) batch_.push_back(columns_[k]);
    column_ = columns_[0];
    std::int64_t depth = 1, height = 1;
    for (const Axis& a : sum().axes) depth *= extent(a);
    for (const Axis& a : rows_) height *= extent(a);
    const bool packs = storage(right().tensor.number).kind != Storage::Kind::Weight;
    if (extent(column_) < 8 || depth * extent(column_) < kFewestProducts) return false;
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
    std::vector<int> order(padded.extents.size());
    for (std::size_t d = 0; d < order.size(); ++d) order[d] = static_cast<int>(d);
    if (padded.kind == Storage::Kind::Local) {
      std::ranges::stable_sort(order, [&](int a, int b) {
        return padded.strides[static_cast<std::size_t>(a)] > padded.strides[static_cast<std::size_t>(b)];
      });
    } else if (order.size() >= 3) {
      std::rotate(order.begin() + 1, order.begin() + 2, order.end());
    }
    padded.strides = strides_in_order(padded.extents, order);
    padded.size = *element_count(padded.extents);
    padded.kind = Storage::Kind::Local;
    padded.low = padded.high = {};
    padded.name += ".padded";
    padded.value = {};
    const int buffer = add(std::move(padded));
    Nest copy{.name = nest_.name, .target = buffer, .axes = axes, .at = to_indices(axes)};
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
    const auto reduction = std::make_shared<const ExprNode>(std::move(changed));
    nest_.value = with_part(nest_.value, nest_.reduction, Expr(reduction));
    nest_.reduction = reduction;
  }
  int add(Storage s) {
    plan_.buffers.push_back(std::move(s));
    return static_cast<int>(plan_.buffers.size()) - 1;
  }

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
    const auto reduction = std::make_shared<const ExprNode>(std::move(changed));
    nest_.value = with_part(nest_.value, nest_.reduction, Expr(reduction));
    nest_.reduction = reduction;
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
    const ExprRef old = nest_.reduction;
    nest_.value = with_axes(nest_.value, by, numbers_);
    nest_.reduction = main_reduction(nest_.value);
  }

  static std::int64_t panel_width(std::int64_t columns, std::int64_t rows) {
    if (columns <= 16) return 16;
    if (rows == 1) return columns >= 64 ? 64 : 32;
    if (columns % 32 == 0) return 32;
    if (columns % 48 == 0) return 48;
    return 32;
  }

  bool finish() {
    const Index l = at_left();
    if (!is_plain(l)) return false;
    std::vector<Axis> depth = sum().axes;
    std::ranges::stable_sort(depth,
                             [&](const Axis& a, const Axis& b) { return stride(l, a) > stride(l, b); });
    std::erase_if(depth, [](const Axis& a) { return extent(a) == 1; });
    if (depth.size() > 3) return false;
    if (depth.empty()) return false;
    const std::int64_t width = panel_width(extent(column_), extent(row_));
    Tile tile{.rows = row_, .columns = column_, .depth = depth.back(), .width = width};
    tile.left = left().tensor.number;
    tile.left_first = left_ == 0;
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
    if (rows_.empty() && blocks > 1) tile.block = std::min(all, (tile.block + 13) / 14 * 14);
    choose_chunk(tile, depth);
    if (!pack(tile)) return false;
    nest_.tile = tile;
    nest_.loops.clear();
    nest_.of.clear();
    return true;
  }

  // A panel that is too long for the caches goes piece by piece, over a block of rows whose sums wait in
  // memory.
  void choose_chunk(Tile& tile, const std::vector<Axis>& depth) const {
    std::int64_t step = 4 * tile.width;  // bytes of the panel for one step of the outermost reduced axis
    for (std::size_t k = 1; k < depth.size(); ++k) step *= extent(depth[k]);
    const std::int64_t all = extent(depth[0]), chunk = std::max<std::int64_t>(1, kPanelBytes / step);
    if (all * step < 2 * kPanelBytes || chunk >= all) return;
    const std::int64_t row_bytes = 4 * tile.width * (rows_.empty() ? 1 : extent(row_));
    const std::int64_t block = std::min(tile.block, kSumBytes / row_bytes);
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
    Storage packed{.kind = Storage::Kind::Local,
                   .name = storage(factor.tensor.number).name + ".packed",
                   .type = ElementType::Float};
    for (const Axis& a : axes) packed.extents.push_back(extent(a));
    packed.strides = row_major(packed.extents);
    packed.size = *element_count(packed.extents);
    tile.kept = kept;
    tile.packed_axes = axes;
    tile.packed_value = value;
    const Storage& source = storage(factor.tensor.number);
    if (source.kind == Storage::Kind::Weight) {
      Formula formula;
      formula.inputs = {TensorType{source.type, to_dims(source.extents)}};
      value = with_reads(value, [](const ExprNode& e) -> std::optional<Expr> {
        return read({.kind = TensorRef::Kind::Input, .number = 0}, e.type, e.extents, e.at);
      });
      formula.stages.push_back({.type = ElementType::Float, .axes = axes, .value = value});
      formula.outputs = {0};
      auto tensors = Program::compile(formula).run({source.value});
      if (!tensors.ok()) return false;
      packed.kind = Storage::Kind::Weight;
      packed.value = tensors->front();
      tile.right = add(std::move(packed));
      return true;
    }
    tile.right = add(std::move(packed));
    before_.push_back(
        {.name = nest_.name, .target = tile.right, .axes = axes, .at = to_indices(axes), .value = value});
    return true;
  }

  Plan& plan_;
  AxisNumbers& numbers_;
  Nest nest_;
  std::vector<Nest> before_;
  std::size_t left_ = 0;
  std::vector<Axis> rows_, columns_, batch_;
  Axis row_, column_;
};

// Loops of a reduction that is no tile. Where all that it reads lies next to each other along the target's
// innermost axis, sums of sixteen elements each are kept for a few positions of the next axis; else that axis
// goes inside of the reduced ones as it is; else reduced axes are innermost.
class Reducer {
 public:
  Reducer(Plan& plan, AxisNumbers& numbers) : plan_(plan), numbers_(numbers) {}

  // The nest, or two of them: sixteens of channels, and the rest.
  std::vector<Nest> schedule(const Nest& nest) {
    std::vector<Nest> out{nest};
    if (const auto axis = to_be_divided(nest)) {
      const std::int64_t whole = extent(*axis) / kLanes * kLanes;
      out = {part(nest, *axis, 0, whole), part(nest, *axis, whole, extent(*axis))};
    }
    for (Nest& each : out) order(each);
    return out;
  }

 private:
  static constexpr std::int64_t kLanes = 16, kMostSums = 12;

  // The target's innermost axis, if most of it could go by sixteens, but not all.
  std::optional<Axis> to_be_divided(const Nest& nest) const {
    Nest trial = nest;
    trial.reduction = main_reduction(trial.value);
    reset_loops(trial, plan_);
    if (!trial.reduction || trial.axes.empty()) return std::nullopt;
    Axis axis = trial.loops[trial.axes.size() - 1].axis;
    int reads = 0;
    if (extent(axis) <= kLanes || extent(axis) % kLanes == 0 || trial.reduction->type != ElementType::Float ||
        trial.reduction->reduction == Reduction::Product || !fits(*trial.reduction->args[0], axis, reads) ||
        reads == 0)
      return std::nullopt;
    return axis;
  }
  Nest part(const Nest& nest, const Axis& axis, std::int64_t low, std::int64_t high) {
    Nest out = nest;
    const Axis fresh = numbers_.make(high - low);
    const AxisMap by{{axis.id, Index(fresh) + Index(low)}};
    std::ranges::replace(out.axes, axis, fresh);
    for (Index& i : out.at) i = with_axes(i, by);
    out.value = with_axes(out.value, by, numbers_);
    return out;
  }

  void order(Nest& nest) {
    nest.reduction = main_reduction(nest.value);
    reset_loops(nest, plan_);
    if (!nest.reduction || nest.axes.empty()) return;
    drop_single(nest);
    const std::size_t data = static_cast<std::size_t>(
        std::ranges::count_if(nest.loops, [&](const Loop& l) { return contains(nest.axes, l.axis); }));
    if (data == nest.loops.size()) {
      nest.reduction = nullptr;
      std::erase_if(nest.of, &AxisOfLoops::is_reduced);
      return;
    }
    if (data == 0) return;
    const Loop innermost = nest.loops[data - 1];
    if (in_lanes(nest, innermost.axis)) return by_lanes(nest, data);
    const auto [along, across] = directions(*nest.reduction->args[0], nest, innermost.axis);
    const std::int64_t length = extent(innermost.axis);
    if (length < 4 || length > 4096 || (along == 0 && across > 0)) return;
    nest.loops.erase(nest.loops.begin() + static_cast<std::ptrdiff_t>(data) - 1);
    nest.loops.push_back(innermost);
  }

  // Axes of one element need no loops.
  static void drop_single(Nest& nest) {
    for (AxisOfLoops& a : nest.of)
      if (a.axis.extent.is(1)) a.index = Index(0);
    std::erase_if(nest.loops, [](const Loop& l) { return l.axis.extent.is(1); });
  }
  Index address(const ExprNode& read) const {
    const Storage& s = plan_.buffers[static_cast<std::size_t>(read.tensor.number)];
    Index out;
    for (std::size_t d = 0; d < read.at.size(); ++d)
      if (s.extents[d] != 1) out = out + Dim(s.strides[d]) * read.at[d];
    return out.recombined();
  }
  // How many reads step by one along the axis, and along a reduced axis.
  std::pair<int, int> directions(const ExprNode& e, const Nest& nest, const Axis& axis) const {
    std::pair<int, int> out{0, 0};
    if (e.kind == ExprNode::Kind::Read) {
      const Index at = address(e);
      if (stride(at, axis) == 1) ++out.first;
      for (const Axis& a : nest.reduction->axes)
        if (stride(at, a) == 1 && extent(a) > 1) ++out.second;
    }
    const auto add = [&](const ExprNode& part) {
      const auto [along, across] = directions(part, nest, axis);
      out.first += along;
      out.second += across;
    };
    for (const ExprRef& a : e.args) add(*a);
    for (const ExprNode::Case& c : e.cases) add(*c.value);
    return out;
  }

  // Whether sixteen elements along the axis can be computed at once. Weights are laid out for it.
  bool in_lanes(Nest& nest, const Axis& axis) {
    if (extent(axis) % kLanes != 0 || nest.reduction->type != ElementType::Float) return false;
    if (std::ranges::any_of(nest.reduction->domain, [&](const Index& i) { return i.mentions(axis); }))
      return false;
    if (nest.reduction->reduction == Reduction::Product) return false;
    int reads = 0;
    if (!fits(*nest.reduction->args[0], axis, reads) || reads == 0) return false;
    const ExprRef old = nest.reduction;
    ExprNode changed = *old;
    changed.args[0] =
        with_reads(Expr(old->args[0]), [&](const ExprNode& e) { return repacked(e, axis); }).ref();
    const auto reduction = std::make_shared<const ExprNode>(std::move(changed));
    nest.value = with_part(nest.value, old, Expr(reduction));
    nest.reduction = reduction;
    return true;
  }
  bool fits(const ExprNode& e, const Axis& axis, int& reads) const {
    if (e.type != ElementType::Float) return false;
    if (e.kind == ExprNode::Kind::Number) return true;
    if (e.kind == ExprNode::Kind::Apply) {
      const bool is_known =
          e.fn == Fn::Add || e.fn == Fn::Sub || e.fn == Fn::Mul || e.fn == Fn::Max || e.fn == Fn::Min;
      return is_known && std::ranges::all_of(e.args, [&](const ExprRef& a) { return fits(*a, axis, reads); });
    }
    if (e.kind != ExprNode::Kind::Read) return false;
    const Storage& s = plan_.buffers[static_cast<std::size_t>(e.tensor.number)];
    if (s.type != ElementType::Float) return false;
    const Index at = address(e);
    if (!is_plain(at)) return false;
    if (!at.mentions(axis))
      return !std::ranges::any_of(e.at, [&](const Index& i) { return i.mentions(axis); });
    for (std::size_t d = 0; d < e.at.size(); ++d)
      if (e.at[d].mentions(axis) && !e.at[d].is_inside(s.extents[d])) return false;
    if (s.kind != Storage::Kind::Weight) ++reads;
    return stride(at, axis) == 1 || (s.kind == Storage::Kind::Weight && place_along(e, axis));
  }
  // The one axis of a tensor along which this axis goes, step by step.
  static std::optional<std::size_t> place_along(const ExprNode& e, const Axis& axis) {
    std::optional<std::size_t> out;
    for (std::size_t d = 0; d < e.at.size(); ++d) {
      if (!e.at[d].mentions(axis)) continue;
      if (out || stride(e.at[d], axis) != 1) return std::nullopt;
      out = d;
    }
    return out;
  }
  // A weight with that axis innermost.
  std::optional<Expr> repacked(const ExprNode& e, const Axis& axis) {
    const Storage source = plan_.buffers[static_cast<std::size_t>(e.tensor.number)];
    if (source.kind != Storage::Kind::Weight || stride(address(e), axis) == 1 || !address(e).mentions(axis))
      return std::nullopt;
    const std::size_t along = *place_along(e, axis);
    std::vector<Axis> axes(source.extents.size());
    std::vector<Index> from(source.extents.size()), at;
    Formula formula;
    formula.inputs = {TensorType{source.type, to_dims(source.extents)}};
    Storage packed{.kind = Storage::Kind::Weight, .name = source.name + ".packed", .type = source.type};
    std::vector<Axis> order;
    const auto put = [&](std::size_t d) {
      order.push_back(numbers_.make(source.extents[d]));
      from[d] = Index(order.back());
      at.push_back(e.at[d]);
      packed.extents.push_back(source.extents[d]);
    };
    for (std::size_t d = 0; d < source.extents.size(); ++d)
      if (d != along) put(d);
    put(along);
    formula.stages.push_back({.type = source.type,
                              .axes = order,
                              .value = read({.kind = TensorRef::Kind::Input, .number = 0}, source.type,
                                            to_dims(source.extents), from)});
    formula.outputs = {0};
    auto tensors = Program::compile(formula).run({source.value});
    ISOMER_CHECK(tensors.ok(), "a weight is only moved");
    packed.value = tensors->front();
    packed.strides = row_major(packed.extents);
    packed.size = source.size;
    plan_.buffers.push_back(std::move(packed));
    return read({.kind = TensorRef::Kind::Input, .number = static_cast<int>(plan_.buffers.size()) - 1},
                e.type, to_dims(plan_.buffers.back().extents), at);
  }

  void by_lanes(Nest& nest, std::size_t data) {
    nest.lanes = true;
    const Loop channels = nest.loops[data - 1];
    const std::int64_t vectors = extent(channels.axis) / kLanes;
    std::int64_t wide = 1;
    for (std::int64_t k = 4; k > 1; --k)
      if (vectors % k == 0) {
        wide = k;
        break;
      }
    std::int64_t high = 1;
    if (data >= 2)
      for (std::int64_t k = kMostSums / wide; k > 1; --k)
        if (extent(nest.loops[data - 2].axis) % k == 0) {
          high = k;
          break;
        }
    std::vector<Loop> reduced(nest.loops.begin() + static_cast<std::ptrdiff_t>(data), nest.loops.end());
    std::int64_t window = 1;
    for (const Loop& l : reduced) window *= extent(l.axis);
    if (window <= 9)
      for (Loop& l : reduced) l.kind = Loop::Kind::Unrolled;
    std::vector<Loop> loops(nest.loops.begin(), nest.loops.begin() + static_cast<std::ptrdiff_t>(data) - 1);
    std::vector<Loop> tile;
    if (high > 1) {
      const Loop row = loops.back();
      loops.pop_back();
      split(nest, row, high, loops, tile);
    }
    const Axis outer = numbers_.make(vectors / wide), inner = numbers_.make(wide),
               lane = numbers_.make(kLanes);
    // Channels outside of the row, so that their weights stay in registers.
    loops.insert(loops.begin() + static_cast<std::ptrdiff_t>(loops.empty() ? 0 : loops.size() - 1),
                 {.axis = outer, .name = channels.name + ".o"});
    tile.push_back({.axis = inner, .kind = Loop::Kind::Unrolled, .name = channels.name + ".v"});
    tile.push_back({.axis = lane, .kind = Loop::Kind::Vector, .name = channels.name + ".l"});
    for (AxisOfLoops& a : nest.of)
      if (a.axis == channels.axis)
        a.index = Dim(wide * kLanes) * Index(outer) + Dim(kLanes) * Index(inner) + Index(lane);
    nest.loops = loops;
    nest.loops.insert(nest.loops.end(), reduced.begin(), reduced.end());
    nest.loops.insert(nest.loops.end(), tile.begin(), tile.end());
  }
  void split(Nest& nest, const Loop& loop, std::int64_t by, std::vector<Loop>& outside,
             std::vector<Loop>& inside) {
    const Axis outer = numbers_.make(extent(loop.axis) / by), inner = numbers_.make(by);
    outside.push_back({.axis = outer, .name = loop.name + ".o"});
    inside.push_back({.axis = inner, .kind = Loop::Kind::Unrolled, .name = loop.name + ".i"});
    for (AxisOfLoops& a : nest.of)
      if (a.axis == loop.axis) a.index = Dim(by) * Index(outer) + Index(inner);
  }

  Plan& plan_;
  AxisNumbers& numbers_;
};

}  // namespace

Status schedule_nests(Plan& plan, AxisNumbers& numbers) {
  std::vector<Nest> out;
  Tiler tiler(plan, numbers);
  Reducer reducer(plan, numbers);
  for (const Nest& nest : plan.nests) {
    if (auto tiled = tiler.tile(nest)) {
      for (Nest& n : *tiled) {
        if (!n.tile && !n.winograd) reset_loops(n, plan);
        out.push_back(std::move(n));
      }
      continue;
    }
    for (Nest& part : reducer.schedule(nest)) out.push_back(std::move(part));
  }
  plan.nests = std::move(out);
  return Done{};
}

}  // namespace isomer::lower
