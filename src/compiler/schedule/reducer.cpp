#include "compiler/schedule/reducer.h"

#include <algorithm>

#include "base/check.h"

namespace isomer::lower {
namespace {

// Loops of a reduction that is no tile. If its inputs are contiguous along the target's innermost axis, sums
// of sixteen elements each, or of the remaining ones, are kept for a few positions of the next axis; else
// that axis goes inside the reduced ones; else reduced axes are innermost.
class Reducer {
 public:
  explicit Reducer(Packing& packing)
      : packing_(packing), plan_(packing.plan()), numbers_(packing.numbers()) {}

  // The nest, or parts of it: sixteens of channels, and the rest; of each, tiles of a row of an open length,
  // and the rest.
  std::vector<Nest> schedule(const Nest& nest) {
    std::vector<Nest> by_channels{nest}, out;
    if (const auto axis = channels_to_divide(nest))
      by_channels = divide(nest, *axis, extent(*axis) / kLanes * kLanes);
    for (const Nest& part : by_channels) {
      std::vector<Nest> parts{part};
      for (const std::int64_t most : {kMostSums, kFewSums})
        if (const auto row = row_to_divide(parts.back(), most)) {
          const Nest whole = parts.back();
          parts.pop_back();
          std::ranges::move(divide(whole, row->axis, row->whole), std::back_inserter(parts));
        }
      out.insert(out.end(), parts.begin(), parts.end());
    }
    for (Nest& each : out) order(each);
    return out;
  }

 private:
  static constexpr std::int64_t kLanes = 16, kMostSums = 14, kFewSums = 4, kMostVectors = 4;
  // A window that is unrolled as a whole, and one row of it.
  static constexpr std::int64_t kSmallWindow = 9, kShortRow = 11;
  static constexpr std::int64_t kFewestLanes = 4;

  std::vector<Nest> divide(const Nest& nest, const Axis& axis, const Dim& whole) const {
    return {part_of(nest, axis, 0, whole, numbers_), part_of(nest, axis, whole, axis.extent, numbers_)};
  }
  Nest with_plain_loops(Nest nest) const {
    nest.reduction = main_reduction(nest.value);
    reset_loops(nest, plan_);
    return nest;
  }
  // The target's innermost axis, if most of it could go by sixteens, but not all.
  std::optional<Axis> channels_to_divide(const Nest& nest) const {
    const Nest trial = with_plain_loops(nest);
    if (!trial.reduction || trial.axes.empty()) return std::nullopt;
    Axis axis = trial.loops[trial.axes.size() - 1].axis;
    int reads = 0;
    if (!axis.extent.is_concrete() || extent(axis) <= kLanes || extent(axis) % kLanes == 0 ||
        trial.reduction->type != ElementType::Float || trial.reduction->reduction == Reduction::Product ||
        !fits(*trial.reduction->args[0], trial, axis, reads) || reads == 0)
      return std::nullopt;
    return axis;
  }
  // An axis of an open extent, of which `whole` positions are tiles of sums, as high as `most` at most.
  struct OpenRow {
    Axis axis = {};
    Dim whole = 0;
  };
  std::optional<OpenRow> row_to_divide(const Nest& nest, std::int64_t most) const {
    if (plan_.sizes.is_empty()) return std::nullopt;
    Nest trial = with_plain_loops(nest);
    if (!trial.reduction) return std::nullopt;
    drop_single(trial);
    const std::size_t data = count_kept(trial);
    if (data < 2 || data == trial.loops.size()) return std::nullopt;
    const Axis channels = trial.loops[data - 1].axis, row = trial.loops[data - 2].axis;
    int reads = 0;
    if (row.extent.is_concrete() || !fits_lanes(trial, channels, reads)) return std::nullopt;
    std::vector<Loop> reduced(trial.loops.begin() + static_cast<std::ptrdiff_t>(data), trial.loops.end());
    unroll_window(reduced);
    const std::int64_t lanes = std::min(extent(channels), kLanes);
    // The rest of a row has any length.
    const std::int64_t length = most < kMostSums ? most : std::min(most, packing_.usual(row));
    const auto [wide, high] =
        sums(extent(channels) / lanes, length, shared_loads(reduced), [](std::int64_t) { return true; });
    const Dim whole = Dim(high) * Dim::floor(row.extent, high);
    if (high == 1 || whole == row.extent) return std::nullopt;
    return OpenRow{row, whole};
  }
  // Loops that are not summed over.
  static std::size_t count_kept(const Nest& nest) {
    return static_cast<std::size_t>(
        std::ranges::count_if(nest.loops, [&](const Loop& l) { return contains(nest.axes, l.axis); }));
  }
  void order(Nest& nest) {
    nest = with_plain_loops(std::move(nest));
    if (!nest.reduction) return merge(nest);
    if (nest.axes.empty()) return;
    drop_single(nest);
    const std::size_t data = count_kept(nest);
    if (data == nest.loops.size()) {
      nest.reduction = nullptr;
      std::erase_if(nest.of, &AxisOfLoops::is_reduced);
      return;
    }
    if (data == 0) return;
    const Loop innermost = nest.loops[data - 1];
    if (in_lanes(nest, innermost.axis)) return by_lanes(nest, data);
    const auto [along, across] = directions(*nest.reduction->args[0], nest, innermost.axis);
    if (!innermost.axis.extent.is_concrete()) return;
    const std::int64_t length = extent(innermost.axis);
    if (length < 4 || length > 4096 || (along == 0 && across > 0)) return;
    nest.loops.erase(nest.loops.begin() + static_cast<std::ptrdiff_t>(data) - 1);
    nest.loops.push_back(innermost);
  }

  // The two innermost axes become one as long as all that is read and written goes on from one to the other:
  // the longer the innermost loop, the less is left behind its vectors.
  void merge(Nest& nest) {
    while (true) {
      std::vector<Axis> several;  // outermost first
      for (const Loop& l : nest.loops)
        if (!l.axis.extent.is(0) && !l.axis.extent.is(1)) several.push_back(l.axis);
      if (several.size() < 2) return;
      const Axis inner = several.back(), outer = several[several.size() - 2];
      if (nest.strip && (nest.strip->rows == inner || nest.strip->rows == outer)) return;
      const auto goes_on = [&](const Index& address) {
        return stride(address, outer) == inner.extent * stride(address, inner) && is_even(address, outer) &&
               is_even(address, inner);
      };
      if (!all_addresses(nest, goes_on)) return;
      const Axis fused = numbers_.make(outer.extent * inner.extent);
      const AxisMap by{{outer.id, Index::floor(Index(fused), inner.extent)},
                       {inner.id, Index::mod(Index(fused), inner.extent)}};
      Nest trial = nest;
      std::erase_if(trial.axes, [&](const Axis& a) { return a == outer || a == inner; });
      trial.axes.push_back(fused);
      for (Index& i : trial.at) i = with_axes(i, by);
      trial.value = with_axes(trial.value, by, numbers_);
      reset_loops(trial, plan_);
      // An address that is not seen to go on would have quotients in it.
      if (!all_addresses(trial, [&](const Index& address) { return is_even(address, fused); })) return;
      nest = std::move(trial);
    }
  }
  // Whether an address goes in equal steps along an axis.
  static bool is_even(const Index& address, const Axis& axis) {
    return std::ranges::none_of(address.terms(), [&](const Index::Term& t) {
      return t.atom.kind != Index::AtomKind::Axis && t.atom.inner->mentions(axis);
    });
  }
  // Whether all addresses of a nest are such; no, if it computes with positions, or tests them.
  template <class Such>
  bool all_addresses(const Nest& nest, const Such& is_such) const {
    const auto look_at = [&](const ExprNode& e, const auto& self) -> bool {
      if (e.kind == ExprNode::Kind::Number) return true;
      if (e.kind == ExprNode::Kind::Apply)
        return std::ranges::all_of(e.args, [&](const ExprRef& a) { return self(*a, self); });
      if (e.kind != ExprNode::Kind::Read) return false;
      for (std::size_t d = 0; d < e.at.size(); ++d)
        if (!stays_inside(packing_.storage(e.tensor.number), d, e.at[d])) return false;
      return is_such(address(e));
    };
    return is_such(packing_.address(nest.target, nest.at)) && look_at(*nest.value, look_at);
  }

  // Axes of one element need no loops.
  static void drop_single(Nest& nest) {
    for (AxisOfLoops& a : nest.of)
      if (a.axis.extent.is(1)) a.index = Index(0);
    std::erase_if(nest.loops, [](const Loop& l) { return l.axis.extent.is(1); });
  }
  Index address(const ExprNode& read) const { return packing_.address(read.tensor.number, read.at); }
  // How many reads step by one along the axis, and along a reduced axis.
  std::pair<int, int> directions(const ExprNode& e, const Nest& nest, const Axis& axis) const {
    std::pair<int, int> out{0, 0};
    if (e.kind == ExprNode::Kind::Read) {
      const Index at = address(e);
      if (stride(at, axis) == 1) ++out.first;
      for (const Axis& a : nest.reduction->axes)
        if (stride(at, a) == 1 && packing_.usual(a) > 1) ++out.second;
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

  // Whether sixteen elements along the axis can be computed at once; how many reads go along it.
  bool fits_lanes(const Nest& nest, const Axis& axis, int& reads) const {
    if (!axis.extent.is_concrete() ||
        (extent(axis) % kLanes != 0 && (extent(axis) > kLanes || extent(axis) < kFewestLanes)) ||
        nest.reduction->type != ElementType::Float)
      return false;
    if (std::ranges::any_of(nest.reduction->domain, [&](const Index& i) { return i.mentions(axis); }))
      return false;
    if (nest.reduction->reduction == Reduction::Product) return false;
    return fits(*nest.reduction->args[0], nest, axis, reads) && reads > 0;
  }
  // The same; weights are laid out for it.
  bool in_lanes(Nest& nest, const Axis& axis) {
    int reads = 0;
    if (!fits_lanes(nest, axis, reads)) return false;
    ExprNode changed = *nest.reduction;
    changed.args[0] =
        with_reads(Expr(changed.args[0]), [&](const ExprNode& e) { return repack(e, axis); }).ref();
    replace_reduction(nest, std::move(changed));
    return true;
  }
  bool fits(const ExprNode& e, const Nest& nest, const Axis& axis, int& reads) const {
    if (e.type != ElementType::Float) return false;
    if (e.kind == ExprNode::Kind::Number) return true;
    if (e.kind == ExprNode::Kind::Apply) {
      const bool is_known = e.fn == Fn::Add || e.fn == Fn::Sub || e.fn == Fn::Mul || e.fn == Fn::Max ||
                            e.fn == Fn::Min || e.fn == Fn::Relu;
      return is_known &&
             std::ranges::all_of(e.args, [&](const ExprRef& a) { return fits(*a, nest, axis, reads); });
    }
    if (e.kind != ExprNode::Kind::Read) return false;
    const Storage& s = plan_.buffer(e.tensor.number);
    if (s.type != ElementType::Float) return false;
    const Index at = address(e);
    if (!is_steady(at, nest)) return false;
    if (!at.mentions(axis))
      return !std::ranges::any_of(e.at, [&](const Index& i) { return i.mentions(axis); });
    for (std::size_t d = 0; d < e.at.size(); ++d)
      if (e.at[d].mentions(axis) && !e.at[d].is_inside(s.extents[d])) return false;
    if (s.kind != Storage::Kind::Weight) ++reads;
    return stride(at, axis) == 1 || (s.kind == Storage::Kind::Weight && place_along(e, axis));
  }
  // Whether an address goes in equal steps along every axis but those of rows that go round.
  static bool is_steady(const Index& at, const Nest& nest) {
    return std::ranges::all_of(at.terms(), [&](const Index::Term& t) {
      return t.atom.kind == Index::AtomKind::Axis ||
             (nest.strip && t.atom.kind == Index::AtomKind::Mod && t.atom.inner->mentions(nest.strip->rows));
    });
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
  std::optional<Expr> repack(const ExprNode& e, const Axis& axis) {
    const Storage source = plan_.buffer(e.tensor.number);
    if (source.kind != Storage::Kind::Weight || stride(address(e), axis) == 1 || !address(e).mentions(axis))
      return std::nullopt;
    const std::size_t along = *place_along(e, axis);
    std::vector<Index> from(source.extents.size()), at;
    std::vector<Axis> order;
    const auto put = [&](std::size_t d) {
      order.push_back(numbers_.make(source.extents[d]));
      from[d] = Index(order.back());
      at.push_back(e.at[d]);
    };
    for (std::size_t d = 0; d < source.extents.size(); ++d)
      if (d != along) put(d);
    put(along);
    auto packed =
        packing_.compute(read(e.tensor, source.type, source.extents, from), order, source.name + ".packed");
    ISOMER_CHECK(packed, "a weight is only moved");
    const Dims extents = packed->extents;
    return read({.kind = TensorRef::Kind::Input, .number = packing_.add(std::move(*packed))}, e.type, extents,
                at);
  }

  void by_lanes(Nest& nest, std::size_t data) {
    nest.lanes = true;
    const Loop channels = nest.loops[data - 1];
    const std::int64_t lanes = std::min(extent(channels.axis), kLanes);
    const std::int64_t vectors = extent(channels.axis) / lanes;
    std::vector<Loop> reduced(nest.loops.begin() + static_cast<std::ptrdiff_t>(data), nest.loops.end());
    unroll_window(reduced);
    const Dim length = data >= 2 ? nest.loops[data - 2].axis.extent : Dim(1);
    const auto [wide, high] =
        sums(vectors, length.value().value_or(kMostSums), shared_loads(reduced),
             [&](std::int64_t by) { return Dim::exact_quotient(length, by).has_value(); });
    std::vector<Loop> loops(nest.loops.begin(), nest.loops.begin() + static_cast<std::ptrdiff_t>(data) - 1);
    std::vector<Loop> tile;
    if (high > 1) {
      const Loop row = loops.back();
      loops.pop_back();
      split(nest, row, high, loops, tile);
    }
    const Axis outer = numbers_.make(vectors / wide), inner = numbers_.make(wide),
               lane = numbers_.make(lanes);
    // Channels outside of the row, so that their weights stay in registers.
    loops.insert(loops.begin() + static_cast<std::ptrdiff_t>(loops.empty() ? 0 : loops.size() - 1),
                 {.axis = outer, .name = channels.name + ".o"});
    tile.push_back({.axis = inner, .kind = Loop::Kind::Unrolled, .name = channels.name + ".v"});
    tile.push_back({.axis = lane, .kind = Loop::Kind::Vector, .name = channels.name + ".l"});
    for (AxisOfLoops& a : nest.of)
      if (a.axis == channels.axis)
        a.index = Dim(wide * lanes) * Index(outer) + Dim(lanes) * Index(inner) + Index(lane);
    nest.loops = loops;
    nest.loops.insert(nest.loops.end(), reduced.begin(), reduced.end());
    nest.loops.insert(nest.loops.end(), tile.begin(), tile.end());
  }
  static void unroll_window(std::vector<Loop>& reduced) {
    const auto is_short = [](const Loop& l, std::int64_t most) {
      return l.axis.extent.is_concrete() && extent(l.axis) <= most;
    };
    std::int64_t window = 1;
    for (const Loop& l : reduced) window *= is_short(l, kSmallWindow) ? extent(l.axis) : kSmallWindow + 1;
    if (window <= kSmallWindow)
      for (Loop& l : reduced) l.kind = Loop::Kind::Unrolled;
    // A value read for one position is still in the cache for the next.
    else if (is_short(reduced.back(), kShortRow)) reduced.back().kind = Loop::Kind::Unrolled;
  }
  // Positions of the window's row, whose loads neighbours share.
  static std::int64_t shared_loads(const std::vector<Loop>& reduced) {
    return reduced.back().kind == Loop::Kind::Unrolled ? extent(reduced.back().axis) : 1;
  }
  // How many vectors, of how many positions: all sums are in registers, and there are enough of them for the
  // time that an addition takes; then as few loads for each product as possible, which a row of the window
  // shares among neighbours.
  template <class Divides>
  static std::pair<std::int64_t, std::int64_t> sums(std::int64_t vectors, std::int64_t length,
                                                    std::int64_t window, const Divides& divides_row) {
    std::pair<std::int64_t, std::int64_t> best{1, 1};
    double least = 0;
    for (std::int64_t wide = 1; wide <= std::min(vectors, kMostVectors); ++wide)
      for (std::int64_t high = 1; high * wide <= kMostSums && high <= length; ++high) {
        if (vectors % wide != 0 || !divides_row(high)) continue;
        const auto all = static_cast<double>(wide * high);
        const double loads = static_cast<double>(high + 2 * window - 1) / static_cast<double>(high * window);
        const double cost = std::max({0.5, loads * 0.75, 4 / all}) + 1 / all;
        if (least > 0 && cost >= least) continue;
        least = cost;
        best = {wide, high};
      }
    return best;
  }
  void split(Nest& nest, const Loop& loop, std::int64_t by, std::vector<Loop>& outside,
             std::vector<Loop>& inside) {
    const Axis outer = numbers_.make(Dim::floor(loop.axis.extent, by)), inner = numbers_.make(by);
    outside.push_back({.axis = outer, .name = loop.name + ".o"});
    inside.push_back({.axis = inner, .kind = Loop::Kind::Unrolled, .name = loop.name + ".i"});
    for (AxisOfLoops& a : nest.of)
      if (a.axis == loop.axis) a.index = Dim(by) * Index(outer) + Index(inner);
  }

  Packing& packing_;
  const Plan& plan_;
  AxisNumbers& numbers_;
};

}  // namespace

std::vector<Nest> with_ordered_loops(const Nest& nest, Packing& packing) {
  return Reducer(packing).schedule(nest);
}

}  // namespace isomer::lower
