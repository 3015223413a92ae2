#include "lower/reducer.h"

#include <algorithm>

#include "base/check.h"

namespace isomer::lower {
namespace {

// Loops of a reduction that is no tile. Where all that it reads lies next to each other along the target's
// innermost axis, sums of sixteen elements each are kept for a few positions of the next axis; else that axis
// goes inside of the reduced ones as it is; else reduced axes are innermost.
class Reducer {
 public:
  explicit Reducer(Packing& packing)
      : packing_(packing), plan_(packing.plan()), numbers_(packing.numbers()) {}

  // The nest, or two of them: sixteens of channels, and the rest.
  std::vector<Nest> schedule(const Nest& nest) {
    std::vector<Nest> out{nest};
    if (const auto axis = to_be_divided(nest)) {
      const std::int64_t whole = extent(*axis) / kLanes * kLanes;
      out = {part_of(nest, *axis, 0, whole, numbers_), part_of(nest, *axis, whole, extent(*axis), numbers_)};
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
        trial.reduction->reduction == Reduction::Product ||
        !fits(*trial.reduction->args[0], trial, axis, reads) || reads == 0)
      return std::nullopt;
    return axis;
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
  Index address(const ExprNode& read) const { return packing_.address(read.tensor.number, read.at); }
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
    if (!fits(*nest.reduction->args[0], nest, axis, reads) || reads == 0) return false;
    ExprNode changed = *nest.reduction;
    changed.args[0] =
        with_reads(Expr(changed.args[0]), [&](const ExprNode& e) { return repacked(e, axis); }).ref();
    replace_reduction(nest, std::move(changed));
    return true;
  }
  bool fits(const ExprNode& e, const Nest& nest, const Axis& axis, int& reads) const {
    if (e.type != ElementType::Float) return false;
    if (e.kind == ExprNode::Kind::Number) return true;
    if (e.kind == ExprNode::Kind::Apply) {
      const bool is_known =
          e.fn == Fn::Add || e.fn == Fn::Sub || e.fn == Fn::Mul || e.fn == Fn::Max || e.fn == Fn::Min;
      return is_known &&
             std::ranges::all_of(e.args, [&](const ExprRef& a) { return fits(*a, nest, axis, reads); });
    }
    if (e.kind != ExprNode::Kind::Read) return false;
    const Storage& s = plan_.buffers[static_cast<std::size_t>(e.tensor.number)];
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
  std::optional<Expr> repacked(const ExprNode& e, const Axis& axis) {
    const Storage source = plan_.buffers[static_cast<std::size_t>(e.tensor.number)];
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
    const auto packed = packing_.computed(read(e.tensor, source.type, to_dims(source.extents), from), order,
                                          source.name + ".packed");
    ISOMER_CHECK(packed, "a weight is only moved");
    return read({.kind = TensorRef::Kind::Input, .number = *packed}, e.type,
                to_dims(packing_.storage(*packed).extents), at);
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

  Packing& packing_;
  const Plan& plan_;
  AxisNumbers& numbers_;
};

}  // namespace

std::vector<Nest> with_ordered_loops(const Nest& nest, Packing& packing) {
  return Reducer(packing).schedule(nest);
}

}  // namespace isomer::lower
