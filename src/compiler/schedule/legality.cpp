#include "compiler/schedule/legality.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "compiler/loops/compose.h"
#include "kernel/normal/sets.h"
#include "model/expr/reads.h"

namespace isomer::lower {
namespace {

constexpr std::uint64_t kMostOperations = 2'000'000;

using Wrong = std::optional<std::string>;

Dims extents_of(const std::vector<Axis>& axes) {
  Dims out;
  for (const Axis& a : axes) out.push_back(a.extent);
  return out;
}

// From positions of axes to where an access goes.
Relation access(const SetSpace& space, const std::vector<Axis>& axes, const std::vector<Index>& at,
                const Domain& domain) {
  const int in = static_cast<int>(axes.size()), out = static_cast<int>(at.size());
  RelationBuilder builder(space, in, out, 0);
  for (int k = 0; k < in; ++k) {
    builder.name_axis(axes[static_cast<std::size_t>(k)], k);
    builder.inside(k, axes[static_cast<std::size_t>(k)].extent);
  }
  for (int k = 0; k < out; ++k) builder.equal(in + k, at[static_cast<std::size_t>(k)]);
  builder.hold(domain);
  return builder.finish();
}

class NestChecker {
 public:
  NestChecker(const Plan& plan, const Nest& nest)
      : plan_(plan), nest_(nest), space_({}, {}, kMostOperations) {}

  Wrong run() {
    try {
      Wrong wrong = nest_.tile ? tile() : nest_.winograd ? winograd() : loops();
      if (!wrong && nest_.call) wrong = call();
      if (!wrong) wrong = write();
      if (!wrong) wrong = reads();
      if (!wrong && nest_.strip) wrong = strip();
      if (!wrong) wrong = shared();
      return wrong;
    } catch (const Undecided& open) {
      return fmt::format("undecided: {}", open.what());
    }
  }

 private:
  const Storage& storage(int buffer) const { return plan_.buffers[static_cast<std::size_t>(buffer)]; }
  std::vector<Axis> all_axes() const {
    std::vector<Axis> all = nest_.axes;
    if (nest_.reduction) all.insert(all.end(), nest_.reduction->axes.begin(), nest_.reduction->axes.end());
    return all;
  }

  // The points of the loops that the guard lets through are the instances of the formula, each once.
  Wrong loops() {
    std::vector<Axis> over, axes;
    std::vector<Index> to;
    for (const Loop& l : nest_.loops) over.push_back(l.axis);
    for (const AxisOfLoops& a : nest_.of) {
      axes.push_back(a.axis);
      to.push_back(a.index);
    }
    for (const Axis& a : all_axes())
      if (std::ranges::count(axes, a) != 1) return "an axis has no loops, or is there twice";
    if (axes.size() != all_axes().size()) return "a loop belongs to no axis";
    for (std::size_t k = 0; k + 1 < nest_.loops.size(); ++k)
      if (nest_.loops[k].kind == Loop::Kind::Vector) return "a vector loop is not the innermost one";
    if (nest_.lanes && (nest_.loops.empty() || nest_.loops.back().axis.extent.concrete() > 16 ||
                        nest_.loops.back().axis.extent.concrete() < 1 || !nest_.guard.empty()))
      return "what goes at once are more than sixteen elements";
    const Relation instances = access(space_, over, to, nest_.guard);
    if (!instances.is_injective()) return "an instance runs twice";
    if (!(instances.range() == box(space_, extents_of(axes))))
      return "the loops run other instances than the formula has";
    return std::nullopt;
  }

  // The innermost loops are those of an intrinsic: the same sum, of elements that lie as it is told.
  Wrong call() {
    if (nest_.call->intrinsic >= plan_.intrinsics.size()) return "it calls an intrinsic that is not there";
    const Intrinsic& own = plan_.intrinsics[nest_.call->intrinsic];
    if (!nest_.reduction || nest_.tile || nest_.winograd || nest_.strip || nest_.lanes ||
        !nest_.guard.empty())
      return "an intrinsic is called from plain loops that divide evenly";
    const ExprNode &sum = *nest_.reduction, &theirs = *own.value;
    if (theirs.kind != ExprNode::Kind::Reduce || theirs.reduction != Reduction::Sum ||
        sum.reduction != Reduction::Sum || sum.type != theirs.type || !sum.domain.empty() ||
        !theirs.domain.empty())
      return "it is not the sum of its intrinsic";
    const std::vector<Axis> axes = lower::all_axes(own);
    const std::size_t kept = own.axes.size(), count = axes.size();
    if (nest_.loops.size() < count || nest_.call->factors.size() != own.inputs.size())
      return "an intrinsic has more loops, or other inputs";
    const std::size_t first = nest_.loops.size() - count;
    AxisMap to_loops;
    bool sums = false;
    for (std::size_t k = 0; k < nest_.loops.size(); ++k) {
      const Loop& loop = nest_.loops[k];
      const bool is_kept = std::ranges::any_of(
          nest_.of, [&](const AxisOfLoops& a) { return !a.is_reduced && a.index.mentions(loop.axis); });
      if (is_kept && is_reduced(nest_, loop)) return "a loop sums and does not";
      if (k < first) {
        sums = sums || is_reduced(nest_, loop);
        if (sums && is_kept) return "a loop that does not sum is inside of one that does";
        continue;
      }
      const std::size_t n = k - first;
      const Axis& axis = axes[n];
      if (loop.kind != Loop::Kind::Serial || !(loop.axis.extent == axis.extent) ||
          (n < kept ? is_reduced(nest_, loop) : is_kept))
        return "the innermost loops are not those of the intrinsic";
      to_loops.emplace(axis.id, Index(loop.axis));
    }
    return summand(*theirs.args[0], *sum.args[0], own, to_loops);
  }
  Wrong summand(const ExprNode& theirs, const ExprNode& e, const Intrinsic& own, const AxisMap& to_loops) {
    if (theirs.kind != e.kind || theirs.type != e.type) return "it does not sum what its intrinsic does";
    switch (theirs.kind) {
      case ExprNode::Kind::Number:
        return theirs.number == e.number && theirs.integer == e.integer
                   ? std::nullopt
                   : Wrong("it does not sum what its intrinsic does");
      case ExprNode::Kind::Read: return factor(theirs, e, own, to_loops);
      case ExprNode::Kind::Apply: break;
      default: return "an intrinsic sums products and functions of what it reads, and nothing else";
    }
    if (theirs.fn != e.fn || theirs.args.size() != e.args.size())
      return "it does not sum what its intrinsic does";
    Wrong wrong;
    for (std::size_t k = 0; k < e.args.size() && !wrong; ++k)
      wrong = summand(*theirs.args[k], *e.args[k], own, to_loops);
    return wrong;
  }
  Wrong factor(const ExprNode& theirs, const ExprNode& e, const Intrinsic& own, const AxisMap& to_loops) {
    const auto number = static_cast<std::size_t>(theirs.tensor.number);
    if (number >= own.inputs.size()) return "an intrinsic reads what is no input";
    const IntrinsicCall::Factor& told = nest_.call->factors[number];
    const Storage& source = storage(e.tensor.number);
    if (!told.read || told.read->kind != ExprNode::Kind::Read || told.read->tensor != e.tensor ||
        told.read->at != e.at || told.strides.size() != theirs.at.size() ||
        source.type != own.inputs[number].type || source.ring > 0 || source.in_pairs)
      return "an intrinsic is told of another tensor";
    if (to_dims(own.inputs[number].extents) != theirs.extents) return "an intrinsic reads another shape";
    if (!access(space_, lower::all_axes(own), theirs.at, {})
             .range()
             .is_subset_of(box(space_, theirs.extents)))
      return "an intrinsic reads outside of its input";
    const AxisMap by_loops = over_loops(nest_);
    AxisMap at_first;
    for (const auto& [axis, loop] : to_loops)
      for (const Index::Term& t : loop.terms()) at_first.emplace(t.atom.axis.id, Index(0));
    std::vector<Axis> loops;
    for (const Loop& l : nest_.loops) loops.push_back(l.axis);
    std::vector<Index> at;
    for (std::size_t d = 0; d < e.at.size(); ++d) {
      if (!stays_inside(source, d, e.at[d])) return "an intrinsic does not ask what is inside of a tensor";
      at.push_back(with_axes(e.at[d], by_loops));
    }
    const Index address = address_of(source, at);
    Index apart = address - with_axes(address, at_first);
    for (std::size_t d = 0; d < theirs.at.size(); ++d)
      apart = apart - Dim(told.strides[d]) * with_axes(theirs.at[d], to_loops);
    if (!access(space_, loops, {apart}, {}).range().is_subset_of(box(space_, {Dim(1)})))
      return "what an intrinsic reads lies elsewhere";
    return std::nullopt;
  }

  // All positions differ and are positions of the target.
  Wrong write() {
    const Storage& target = storage(nest_.target);
    const Relation to = access(space_, nest_.axes, nest_.at, {});
    if (!to.is_injective()) return "a position is written twice";
    if (!to.range().is_subset_of(box(space_, to_dims(target.extents))))
      return "it writes outside of its target";
    return std::nullopt;
  }

  Wrong reads() {
    Wrong wrong;
    std::vector<Axis> reduced;
    for_each_read(*nest_.value, reduced, [&](const ExprNode& e, const std::vector<Axis>& around) {
      if (!wrong) wrong = read(e, around);
    });
    return wrong;
  }
  // Whether it may use tensors of which each thread has its own: wrong_strips sees that all of its group do.
  bool has_own() const { return nest_.strip && nest_.strip->apart; }
  // What is read without asking stays inside of the memory: the tensor and the zeros around it.
  Wrong read(const ExprNode& e, const std::vector<Axis>& around) {
    const Storage& source = storage(e.tensor.number);
    if (source.extents.size() != e.at.size() || to_dims(source.extents) != e.extents)
      return "a read is of another shape";
    if (source.each_thread && !has_own()) return "what each thread has for itself is read by others";
    std::vector<Axis> axes = nest_.axes;
    axes.insert(axes.end(), around.begin(), around.end());
    for (std::size_t d = 0; d < e.at.size(); ++d) {
      if (!stays_inside(source, d, e.at[d])) continue;  // the code asks
      const std::int64_t low = source.low.empty() ? 0 : source.low[d],
                         high = source.high.empty() ? 0 : source.high[d];
      const Relation to = access(space_, axes, {e.at[d] + Index(low)}, {});
      if (!to.range().is_subset_of(box(space_, {Dim(source.extents[d] + low + high)})))
        return fmt::format("it reads outside of {}", source.name);
    }
    return std::nullopt;
  }

  static bool same_axes(std::vector<Axis> a, std::vector<Axis> b) {
    std::erase_if(a, [](const Axis& x) { return x.extent.is(1); });
    std::erase_if(b, [](const Axis& x) { return x.extent.is(1); });
    std::ranges::sort(a, {}, &Axis::id);
    std::ranges::sort(b, {}, &Axis::id);
    return a == b;
  }

  // Every axis has its place among the tile's loops, once; the left factor goes in equal steps; what is
  // packed, read at the tile's position, is what the product reads.
  Wrong tile() {
    const Tile& t = *nest_.tile;
    std::vector<Axis> kept = t.batch, reduced = t.outer;
    kept.insert(kept.end(), t.outer_rows.begin(), t.outer_rows.end());
    kept.insert(kept.end(), {t.rows, t.columns});
    reduced.push_back(t.depth);
    if (!same_axes(kept, nest_.axes) || !same_axes(reduced, nest_.reduction->axes))
      return "the tile leaves out an axis";
    const ExprNode& product = *nest_.reduction->args[0];
    const ExprNode &left = *product.args[t.left_first ? 0 : 1], &right = *product.args[t.left_first ? 1 : 0];
    if (left.tensor.number != t.left || t.width <= 0 || t.block <= 0 || t.chunk < 0)
      return "the tile is of another product";
    // Sums that wait are on the stack.
    constexpr std::int64_t kMostWaiting = std::int64_t{1} << 20;
    const std::int64_t rows = t.rows.extent.concrete();
    const std::int64_t waiting = t.outer_rows.empty() ? std::min(rows, t.block) : rows * t.block;
    if (t.group <= 0 || (t.chunk > 0 && 4 * t.group * waiting * t.width > kMostWaiting))
      return "the tile's sums take more memory than a stack has";
    for (std::size_t d = 0; d < left.at.size(); ++d)
      if (!stays_inside(storage(t.left), d, left.at[d])) return "the tile reads outside of its left factor";
    if (!steps_evenly(t, left)) return "the left factor does not go in equal steps";
    if (t.in_pairs != storage(t.right).in_pairs) return "the packed factor is rounded, or is not";
    if (t.in_pairs && (stride(address_of(storage(t.left), left.at), t.depth) != 1 || t.chunk != 0 ||
                       t.width % 16 != 0 || t.width > 64))
      return "there is no tile for such pairs";
    return packed(t, right);
  }
  bool steps_evenly(const Tile& t, const ExprNode& left) const {
    Index address;
    const Storage& s = storage(t.left);
    for (std::size_t d = 0; d < left.at.size(); ++d) {
      if (s.ring == 0 || d != s.ring_axis) address = address + Dim(s.strides[d]) * left.at[d];
      // Where rows go round, a tile is of one row.
      else if (!nest_.strip || !same_axes(left.at[d].axes(), {nest_.strip->rows})) return false;
    }
    address = address.recombined();
    return std::ranges::all_of(
        address.terms(), [](const Index::Term& term) { return term.atom.kind == Index::AtomKind::Axis; });
  }
  Wrong packed(const Tile& t, const ExprNode& right) {
    AxisMap by;
    std::size_t k = 0;
    const auto put = [&](const Index& index) {
      if (k < t.packed_axes.size()) by[t.packed_axes[k].id] = index;
      ++k;
    };
    for (const Axis& a : t.kept) put(Index(a));
    put(Index::floor(Index(t.columns), t.width));
    for (const Axis& a : t.outer) put(Index(a));
    put(Index(t.depth));
    put(Index::mod(Index(t.columns), t.width));
    if (k != t.packed_axes.size()) return "the packed factor has other axes";
    if (extents_of(t.packed_axes) != to_dims(storage(t.right).extents))
      return "the packed factor is of another shape";
    const ExprNode* source = t.packed_value.ref().get();
    if (source->kind == ExprNode::Kind::Cases) source = source->cases[0].value.get();
    if (source->kind != ExprNode::Kind::Read) return "the packed factor is no read";
    std::vector<Axis> axes = all_axes();
    AxisMap single;
    for (const Axis& a : axes)
      if (a.extent.is(1)) single[a.id] = Index(0);
    std::vector<Index> from, wanted;
    for (const Index& i : source->at) from.push_back(with_axes(with_axes(i, by), single));
    for (const Index& i : right.at) wanted.push_back(with_axes(i, single));
    if (!(access(space_, axes, from, {}) == access(space_, axes, wanted, {})))
      return "what is packed is not what the product reads";
    return std::nullopt;
  }

  // What two threads write at the same time are different positions, and different places of a ring; scratch
  // memory is a thread's own.
  Wrong shared() {
    const std::vector<Loop> outermost = shared_loops(nest_);
    const auto is_parallel = [](const Loop& l) { return l.kind == Loop::Kind::Parallel; };
    if (static_cast<std::size_t>(std::ranges::count_if(nest_.loops, is_parallel)) != outermost.size())
      return "a parallel loop is inside of one that is not";
    if (storage(nest_.target).each_thread && !has_own())
      return "what each thread has for itself is written for others";
    if (!is_shared(nest_)) return std::nullopt;
    // Threads divide positions of these; each is done by one.
    std::vector<Index> units;
    std::vector<Axis> over = nest_.axes;
    std::vector<Index> at = nest_.at;
    Domain guard;
    if (nest_.tile) {
      const Tile& t = *nest_.tile;
      for (const Axis& a : t.batch) units.emplace_back(a);
      if (t.shared == Tile::Shared::Columns) units.push_back(Index::floor(Index(t.columns), t.width));
      else
        for (const Axis& a : t.outer_rows.empty() ? std::vector{t.rows} : t.outer_rows) units.emplace_back(a);
    } else if (nest_.winograd) {
      const Winograd& w = *nest_.winograd;
      for (const Axis& a : w.batch) units.emplace_back(a);
      if (w.shared == Tile::Shared::Columns) {
        units.push_back(Index::floor(Index(w.output), w.width));
      } else {
        units.push_back(Index::floor(Index(w.row), w.size));
        units.push_back(Index::floor(Index(w.column), w.size));
      }
      if (!storage(w.scratch).each_thread) return "threads share their scratch memory";
    } else {
      over.clear();
      AxisMap by;
      for (const AxisOfLoops& a : nest_.of) by[a.axis.id] = a.index;
      for (Index& i : at) i = with_axes(i, by);
      for (const Loop& l : nest_.loops) over.push_back(l.axis);
      for (const Loop& l : outermost) units.emplace_back(l.axis);
      guard = nest_.guard;
    }
    if (!writers(over, at, units, guard).is_function()) return "two threads write the same position";
    return shared_ring();
  }
  // Of every position of the target, which unit writes it.
  Relation writers(const std::vector<Axis>& over, const std::vector<Index>& at,
                   const std::vector<Index>& units, const Domain& guard) const {
    const int in = static_cast<int>(at.size()), out = static_cast<int>(units.size()),
              hidden = static_cast<int>(over.size());
    RelationBuilder builder(space_, in, out, hidden);
    for (int k = 0; k < hidden; ++k) {
      const Axis& axis = over[static_cast<std::size_t>(k)];
      builder.name_axis(axis, in + out + k);
      builder.inside(in + out + k, axis.extent);
    }
    for (int k = 0; k < in; ++k) builder.equal(k, at[static_cast<std::size_t>(k)]);
    for (int k = 0; k < out; ++k) builder.equal(in + k, units[static_cast<std::size_t>(k)]);
    builder.hold(guard);
    return builder.finish();
  }
  // Rows that are done in one strip have places of their own.
  Wrong shared_ring() const {
    const Storage& target = storage(nest_.target);
    if (!nest_.strip || target.ring == 0) return std::nullopt;
    std::int64_t before = 0;
    for (const std::int64_t done : nest_.strip->done) {
      if (done - before > target.ring) return "rows that threads write at the same time share a place";
      before = done;
    }
    return std::nullopt;
  }

  // Rows are a loop of their own, of which strips take all, one after the other.
  Wrong strip() const {
    const Strip& s = *nest_.strip;
    const auto is_rows = [&](const Axis& a) { return a == s.rows; };
    if (std::ranges::count_if(nest_.axes, is_rows) != 1) return "strips are of another nest's rows";
    if (nest_.winograd) return "tiles of several rows do not go strip by strip";
    if (nest_.tile) {
      if (std::ranges::count_if(nest_.tile->batch, is_rows) != 1) return "tiles are of several rows";
    } else {
      for (const AxisOfLoops& a : nest_.of)
        if (is_rows(a.axis) ? !(a.index == Index(s.rows)) : a.index.mentions(s.rows))
          return "strips are no rows";
      if (std::ranges::count_if(nest_.loops, [&](const Loop& l) { return is_rows(l.axis); }) != 1)
        return "rows have no loop";
      const auto loop = std::ranges::find_if(nest_.loops, [&](const Loop& l) { return is_rows(l.axis); });
      if (loop->kind != Loop::Kind::Serial && loop->kind != Loop::Kind::Parallel)
        return "rows are no plain loop";
    }
    if (s.done.empty() || s.done.front() < 0 || !std::ranges::is_sorted(s.done) ||
        !s.rows.extent.is(s.done.back()))
      return "strips leave out rows";
    return std::nullopt;
  }

  Wrong winograd() {
    const Winograd& w = *nest_.winograd;
    if (storage(w.left).ring > 0) return "windows of several rows are read where rows go round";
    std::vector<Axis> kept = w.batch;
    kept.insert(kept.end(), {w.row, w.column, w.output});
    if (!same_axes(kept, nest_.axes)) return "the tiles leave out an axis";
    const ExprNode& product = *nest_.reduction->args[0];
    const ExprNode &left = *product.args[w.left_first ? 0 : 1], &right = *product.args[w.left_first ? 1 : 0];
    const auto channel = left.at[w.channel_axis].as_axis(), k = right.at[2].as_axis(),
               l = right.at[3].as_axis();
    if (!channel || !k || !l || !k->extent.is(3) || !l->extent.is(3)) return "it is no 3x3 window";
    if (!same_axes({*channel, *k, *l}, nest_.reduction->axes)) return "it sums other axes";
    if (!(left.at[w.row_axis] == Index(w.row) + Index(*k) + Index(w.top)) ||
        !(left.at[w.column_axis] == Index(w.column) + Index(*l) + Index(w.left_edge)))
      return "the window moves otherwise";
    if (!(right.at[0] == Index(w.output)) || !(right.at[1] == Index(*channel)))
      return "the weights are another convolution's";
    if (w.channels % 16 != 0 || !channel->extent.is(w.channels) || w.output.extent.concrete() % 16 != 0 ||
        storage(w.left).strides[w.channel_axis] != 1)
      return "channels do not come in sixteens";
    if (w.size != 2 && w.size != 4) return "there is no such tile";
    if (storage(w.weights).size != w.points() * w.panels * w.channels * w.width ||
        w.panels * w.width < w.output.extent.concrete())
      return "the weights are transformed otherwise";
    return w.tiles <= 0 || storage(w.scratch).size < w.scratch_size()
               ? Wrong("the scratch memory is too small")
               : std::nullopt;
  }

  const Plan& plan_;
  const Nest& nest_;
  SetSpace space_;
};

// A kernel reads its own copy of the right factor, and not what the formula calls it.
std::set<int> read_by(const Nest& nest) {
  std::set<int> out;
  std::vector<Axis> reduced;
  const Expr value = nest.tile || nest.winograd
                         ? with_part(nest.value, nest.reduction, number(nest.reduction->type, 0))
                         : nest.value;
  for_each_read(*value, reduced,
                [&](const ExprNode& e, const std::vector<Axis>&) { out.insert(e.tensor.number); });
  if (nest.tile) out.insert({nest.tile->left, nest.tile->right});
  if (nest.winograd) out.insert({nest.winograd->left, nest.winograd->weights, nest.winograd->zeros});
  return out;
}

// Whether what a nest reads has been written as a whole by those before it, and nothing is written twice.
Wrong out_of_order(const Plan& plan) {
  const SetSpace space({}, {}, kMostOperations);
  std::map<int, Points> written;
  const auto is_whole = [&](int buffer) {
    const Storage& s = plan.buffers[static_cast<std::size_t>(buffer)];
    if (s.kind == Storage::Kind::Input || s.kind == Storage::Kind::Weight) return true;
    const auto at = written.find(buffer);
    return at != written.end() && at->second == box(space, to_dims(s.extents));
  };
  for (const Nest& nest : plan.nests) {
    for (const int buffer : read_by(nest))
      if (!is_whole(buffer))
        return fmt::format("{}: it reads {} before it is written", nest.name,
                           plan.buffers[static_cast<std::size_t>(buffer)].name);
    const Points now = access(space, nest.axes, nest.at, {}).range();
    const auto [at, is_first] = written.try_emplace(nest.target, now);
    if (is_first) continue;
    if (!(at->second & now).is_empty())
      return fmt::format("{}: it writes again what another nest has written", nest.name);
    at->second = (at->second | now).coalesced();
  }
  for (const Port& p : plan.outputs)
    if (!is_whole(p.buffer)) return fmt::format("output {} is not written as a whole", p.name);
  return std::nullopt;
}

// Nests that run strip by strip, in turns: what one reads of the others has been written in this strip or
// before, and is still there.
class StripChecker {
 public:
  StripChecker(const Plan& plan, std::size_t first, std::size_t length)
      : plan_(plan), first_(first), length_(length) {}

  Wrong run() {
    for (std::size_t n = first_; n < first_ + length_; ++n) {
      if (strip(n).done.size() != strip(first_).done.size()) return "strips differ in their number";
      const int target = plan_.nests[n].target;
      if (axes_.contains(target) && axes_[target] != row_axis(n)) return "rows of one tensor are two axes";
      axes_[target] = row_axis(n);
      writers_[target].push_back(n);
      is_apart_ = is_apart_ || strip(n).apart;
    }
    if (is_apart_)
      if (auto wrong = apart()) return wrong;
    for (std::size_t n = first_; n < first_ + length_; ++n) {
      Wrong wrong;
      std::vector<Axis> reduced;
      for_each_read(*plan_.nests[n].value, reduced, [&](const ExprNode& e, const std::vector<Axis>&) {
        if (!wrong && writers_.contains(e.tensor.number)) wrong = read(n, e);
        if (!wrong && is_apart_ && writers_.contains(e.tensor.number)) wrong = read_apart(n, e);
      });
      if (wrong) return fmt::format("{}: {}", plan_.nests[n].name, *wrong);
    }
    return std::nullopt;
  }

 private:
  const Strip& strip(std::size_t n) const { return *plan_.nests[n].strip; }
  // Of the target, the one axis that the nest's rows are.
  std::optional<std::size_t> row_axis(std::size_t n) const {
    const Nest& nest = plan_.nests[n];
    std::optional<std::size_t> out;
    for (std::size_t d = 0; d < nest.at.size(); ++d) {
      if (!nest.at[d].mentions(strip(n).rows)) continue;
      if (out || !(nest.at[d] == Index(strip(n).rows))) return std::nullopt;
      out = d;
    }
    return out;
  }
  std::int64_t done(std::size_t n, std::size_t strip_count) const {
    return strip_count == 0 ? 0 : strip(n).done[strip_count - 1];
  }

  Wrong read(std::size_t n, const ExprNode& e) {
    const Storage& s = plan_.buffers[static_cast<std::size_t>(e.tensor.number)];
    const auto axis = axes_[e.tensor.number];
    if (!axis || *axis >= e.at.size()) return fmt::format("rows of {} are no axis of it", s.name);
    if (s.ring > 0 && s.ring_axis != *axis) return fmt::format("other rows of {} go round", s.name);
    const std::int64_t rows = s.extents[*axis], low = s.low.empty() ? 0 : s.low[*axis],
                       high = s.high.empty() ? 0 : s.high[*axis];
    for (std::size_t k = 0; k < strip(n).done.size(); ++k) {
      const std::int64_t from = done(n, k), to = done(n, k + 1);
      if (from == to) continue;
      const Axis here{.id = strip(n).rows.id, .extent = Dim(to - from)};
      const auto range = with_axes(e.at[*axis], {{here.id, Index(here) + Index(from)}}).range();
      if (!range || !range->low.value() || !range->high.value()) return "which rows are read is not seen";
      // Further outside nothing is read: the code asks, or it was refused already.
      const std::int64_t begin = std::max(range->low.concrete(), -low),
                         end = std::min(range->high.concrete() + 1, rows + high);
      std::int64_t least = rows, most = 0;  // that all writers have done, that one has
      for (const std::size_t w : writers_[e.tensor.number]) {
        const std::int64_t now = done(w, w < n ? k + 1 : k);
        least = std::min(least, now);
        most = std::max(most, now);
      }
      // Zeros behind the last row are written with it.
      if (least == rows) least += high;
      if (most == rows) most += high;
      if (end > 0 && begin < end && end > least) return fmt::format("it reads rows of {} too early", s.name);
      if (s.ring > 0 && begin < most - s.ring) return fmt::format("it reads rows of {} too late", s.name);
    }
    return std::nullopt;
  }

  std::size_t last() const { return first_ + length_ - 1; }
  // Rows that are read, where the nest does those from `from` to `to`.
  static std::optional<std::pair<std::int64_t, std::int64_t>> read_rows(const Index& at, const Axis& rows,
                                                                        std::int64_t from, std::int64_t to) {
    const Axis here{.id = rows.id, .extent = Dim(to - from)};
    const auto range = with_axes(at, {{here.id, Index(here) + Index(from)}}).range();
    if (!range || !range->low.value() || !range->high.value()) return std::nullopt;
    return std::pair{range->low.concrete(), range->high.concrete() + 1};
  }

  // Threads divide the rows of the last nest. For rows r to q of it, one of them does the rows first[r] to
  // last[q] of every nest, in the same order as strips have all rows: so nothing is read too early or too
  // late that would not be without threads, if all that is read is among what this thread does. What it
  // writes is its own, but for the rows of the last nest, which no other one has.
  Wrong apart() {
    const auto rows = static_cast<std::size_t>(strip(last()).done.back());
    for (std::size_t n = first_; n <= last(); ++n) {
      const Strip& s = strip(n);
      const int target = plan_.nests[n].target;
      const Storage& t = plan_.buffers[static_cast<std::size_t>(target)];
      if (!s.apart) return "threads divide some of the nests that run in turns";
      if (is_shared(plan_.nests[n])) return "threads divide what one of them does";
      if (!axes_[target] || writers_[target].size() != 1) return "threads may write the same rows";
      if (s.first.size() != rows + 1 || s.last.size() != rows + 1 || s.first.front() != 0 ||
          s.last.back() != s.done.back() || s.last.front() < 0 || !std::ranges::is_sorted(s.first) ||
          !std::ranges::is_sorted(s.last))
        return "threads leave out rows";
      for (std::size_t r = 0; r < rows; ++r) {
        const auto row = static_cast<std::int64_t>(r);
        // Who does no row writes no zeros behind the last one either.
        if (s.first[r] >= s.done.back()) return "threads leave out rows";
        if (n == last() && (s.first[r] != row || s.last[r] != row))
          return "threads do rows of the last nest twice, or leave them out";
      }
      if (n == last() ? t.each_thread : !t.each_thread || t.kind != Storage::Kind::Local)
        return fmt::format("threads share {}", t.name);
    }
    return std::nullopt;
  }
  Wrong read_apart(std::size_t n, const ExprNode& e) {
    const Storage& s = plan_.buffers[static_cast<std::size_t>(e.tensor.number)];
    const std::size_t w = writers_[e.tensor.number].front(), axis = *axes_[e.tensor.number];
    if (w == last()) return fmt::format("a thread reads rows of {} that another one writes", s.name);
    const std::int64_t rows = strip(n).done.back(), written = s.extents[axis];
    for (std::size_t r = 0; r < strip(n).first.size(); ++r) {
      if (const std::int64_t from = strip(n).first[r]; r + 1 < strip(n).first.size()) {
        const auto range = read_rows(e.at[axis], strip(n).rows, from, rows);
        if (!range) return "which rows are read is not seen";
        if (std::max<std::int64_t>(range->first, 0) < strip(w).first[r])
          return fmt::format("it reads rows of {} before those that its thread has", s.name);
      }
      if (const std::int64_t to = strip(n).last[r]; to > 0) {
        const auto range = read_rows(e.at[axis], strip(n).rows, 0, to);
        if (!range) return "which rows are read is not seen";
        if (std::min(range->second, written) > strip(w).last[r])
          return fmt::format("it reads rows of {} behind those that its thread has", s.name);
      }
    }
    return std::nullopt;
  }

  const Plan& plan_;
  std::size_t first_, length_;
  bool is_apart_ = false;
  std::map<int, std::optional<std::size_t>> axes_;
  std::map<int, std::vector<std::size_t>> writers_;
};

Wrong wrong_strips(const Plan& plan) {
  std::set<int> groups;
  std::map<int, std::set<std::size_t>> users;  // of buffers, by where their group begins
  for (std::size_t n = 0; n < plan.nests.size();) {
    const std::size_t length = strip_length(plan, n);
    for (std::size_t k = n; k < n + std::max<std::size_t>(1, length); ++k) {
      users[plan.nests[k].target].insert(n);
      for (const int buffer : read_by(plan.nests[k])) users[buffer].insert(n);
    }
    if (length > 0) {
      if (!groups.insert(plan.nests[n].strip->group).second) return "a group of strips is there twice";
      if (auto wrong = StripChecker(plan, n, length).run()) return wrong;
    }
    n += std::max<std::size_t>(1, length);
  }
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const Storage& s = plan.buffers[b];
    const auto at = users.find(static_cast<int>(b));
    if (at == users.end()) continue;
    const auto& strip = plan.nests[*at->second.begin()].strip;
    if (s.each_thread && (at->second.size() != 1 || !strip || !strip->apart))
      return fmt::format("{} is a thread's own, and others read it", s.name);
    if (s.ring == 0) continue;
    if (s.kind != Storage::Kind::Local || s.ring < 0 || s.ring_axis >= s.extents.size() ||
        at->second.size() != 1 || !plan.nests[*at->second.begin()].strip)
      return fmt::format("{} is needed as a whole, but its rows go round", s.name);
    // Zeros before the first row and behind the last are whole rows.
    for (std::size_t d = 0; d < s.extents.size(); ++d)
      if (d != s.ring_axis && s.strides[d] >= s.strides[s.ring_axis] && s.extents[d] != 1)
        return fmt::format("{}: its rows do not lie together", s.name);
    if (!s.low.empty() && s.low[s.ring_axis] > s.ring) return fmt::format("{} has too few rows", s.name);
  }
  return std::nullopt;
}

// Positions of a tensor, zeros around it included, are places of its memory, each another one.
Wrong misplaced(const Storage& s) {
  std::int64_t reach = 0;
  const std::vector<int> order = order_of(s);
  for (std::size_t k = order.size(); k-- > 0;) {
    const auto d = static_cast<std::size_t>(order[k]);
    const bool goes_round = s.ring > 0 && d == s.ring_axis;
    const std::int64_t length =
        goes_round ? s.ring : s.extents[d] + (s.low.empty() ? 0 : s.low[d] + s.high[d]);
    if (length == 0) return std::nullopt;  // it has no positions
    if (length <= 1) continue;
    if (s.strides[d] <= reach) return fmt::format("positions of {} share a place", s.name);
    reach += (length - 1) * s.strides[d];
  }
  if (reach >= std::max<std::int64_t>(1, s.size)) return fmt::format("{} is larger than its memory", s.name);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> illegal(const Plan& plan, const Nest& nest) {
  return NestChecker(plan, nest).run();
}

std::optional<std::string> overlapping(const Plan& plan) {
  struct Life {
    std::size_t first = SIZE_MAX, last = 0;
  };
  std::map<int, Life> lives;
  const auto use = [&](int buffer, std::size_t n) {
    lives[buffer].first = std::min(lives[buffer].first, n);
    lives[buffer].last = std::max(lives[buffer].last, n);
  };
  for (std::size_t n = 0; n < plan.nests.size(); ++n) {
    use(plan.nests[n].target, n);
    for (const int buffer : read_by(plan.nests[n])) use(buffer, n);
    if (plan.nests[n].winograd) use(plan.nests[n].winograd->scratch, n);
  }
  // Nests that run in turns are one.
  for (std::size_t n = 0; n < plan.nests.size();) {
    const std::size_t end = n + std::max<std::size_t>(1, strip_length(plan, n));
    for (auto& [buffer, life] : lives)
      if (life.first < end && life.last >= n)
        life = {.first = std::min(life.first, n), .last = std::max(life.last, end - 1)};
    n = end;
  }
  for (auto a = lives.begin(); a != lives.end(); ++a) {
    const Storage& s = plan.buffers[static_cast<std::size_t>(a->first)];
    const bool is_weight = s.kind == Storage::Kind::Weight;
    if (!is_weight && s.kind != Storage::Kind::Local) continue;
    if (auto wrong = misplaced(s)) return wrong;
    const std::int64_t end = s.offset + byte_size(s);
    if (s.offset < 0 || s.offset % stored_bytes(s.type) != 0 ||
        end > (is_weight ? plan.weights : plan.workspace))
      return fmt::format("{} is outside of the memory", s.name);
    const std::int64_t bytes = byte_size(s);
    if (s.each_thread && (s.thread_offset < 0 || s.thread_offset % stored_bytes(s.type) != 0 ||
                          s.thread_offset + bytes > plan.thread_workspace))
      return fmt::format("{} is outside of a thread's memory", s.name);
    for (auto b = std::next(a); b != lives.end(); ++b) {
      const Storage& o = plan.buffers[static_cast<std::size_t>(b->first)];
      if (o.kind != s.kind) continue;
      const bool together =
          is_weight || (a->second.first <= b->second.last && b->second.first <= a->second.last);
      if (together && s.each_thread && o.each_thread && s.thread_offset < o.thread_offset + byte_size(o) &&
          o.thread_offset < s.thread_offset + bytes)
        return fmt::format("{} and {} of a thread live at the same time and overlap", s.name, o.name);
      if (together && s.offset < o.offset + byte_size(o) && o.offset < end)
        return fmt::format("{} and {} live at the same time and overlap", s.name, o.name);
    }
  }
  return std::nullopt;
}

std::optional<std::string> illegal(const Plan& plan) {
  for (const Nest& nest : plan.nests)
    if (auto wrong = illegal(plan, nest)) return fmt::format("{}: {}", nest.name, *wrong);
  try {
    if (auto wrong = out_of_order(plan)) return wrong;
    if (auto wrong = wrong_strips(plan)) return wrong;
  } catch (const Undecided& open) {
    return fmt::format("undecided: {}", open.what());
  }
  return overlapping(plan);
}

}  // namespace isomer::lower
