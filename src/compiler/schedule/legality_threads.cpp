// Checks threads: concurrent threads write to different places.
#include <algorithm>

#include "base/nth.h"
#include "compiler/loops/compose.h"
#include "compiler/loops/fused_axes.h"
#include "compiler/schedule/legality_parts.h"

namespace isomer::lower {
namespace {

// Threads divide positions of `units`; each is done by one.
struct Parts {
  std::vector<Index> units = {};
  std::vector<Axis> over = {};  // what these are made of
  std::vector<Index> at = {};   // where the nest writes
  Domain guard = {};
};

Parts parts_of_tile(const Nest& nest) {
  const Tile& t = *nest.tile;
  Parts out{.over = nest.axes, .at = nest.at};
  for (const Axis& a : t.batch) out.units.emplace_back(a);
  if (t.shared == Tile::Shared::Columns) out.units.push_back(Index::floor(Index(t.columns), t.width));
  else
    for (const Axis& a : t.outer_rows.empty() ? std::vector{t.rows} : t.outer_rows) out.units.emplace_back(a);
  return out;
}

Parts parts_of_winograd(const Nest& nest) {
  const Winograd& w = *nest.winograd;
  Parts out{.over = nest.axes, .at = nest.at};
  for (const Axis& a : w.batch) out.units.emplace_back(a);
  if (w.shared == Tile::Shared::Columns) {
    out.units.push_back(Index::floor(Index(w.output), w.width));
  } else {
    out.units.push_back(Index::floor(Index(w.row), w.size));
    out.units.push_back(Index::floor(Index(w.column), w.size));
  }
  return out;
}

Parts parts_of_loops(const Nest& nest) {
  Parts out{.at = nest.at, .guard = nest.guard};
  AxisMap by;
  for (const AxisOfLoops& a : nest.of) by[a.axis.id] = a.index;
  for (Index& i : out.at) i = with_axes(i, by);
  for (const Loop& l : nest.loops) out.over.push_back(l.axis);
  for (const Loop& l : shared_loops(nest)) out.units.emplace_back(l.axis);
  return out;
}

// The same over axes that open sizes are fused to. Where parts are positions of a fused axis, they are
// positions of all of these: each of one is one of the others.
Parts unfuse(const Parts& parts) {
  Positions all{.axes = parts.over, .at = parts.at, .domain = parts.guard};
  all.at.insert(all.at.end(), parts.units.begin(), parts.units.end());
  all = unfuse(std::move(all));
  const auto units = all.at.begin() + static_cast<std::ptrdiff_t>(parts.at.size());
  Parts out{.over = all.axes, .at = {all.at.begin(), units}, .guard = all.domain};
  for (std::size_t k = 0; k < parts.units.size(); ++k) {
    const Index& now = *(units + static_cast<std::ptrdiff_t>(k));
    if (!parts.units[k].as_axis() || now.as_axis()) {
      out.units.push_back(now);
      continue;
    }
    for (const Axis& a : now.axes()) out.units.emplace_back(a);
  }
  return out;
}

// From positions of the target to the parts that write them.
Relation writers(const Parts& divided, const SetSpace& space) {
  const auto [units, over, at, guard] = unfuse(divided);
  const int in = static_cast<int>(at.size()), out = static_cast<int>(units.size()),
            hidden = static_cast<int>(over.size());
  RelationBuilder builder(space, in, out, hidden);
  for (int k = 0; k < hidden; ++k) {
    const Axis& axis = nth(over, k);
    builder.name_axis(axis, in + out + k);
    builder.inside(in + out + k, axis.extent);
  }
  for (int k = 0; k < in; ++k) builder.equal(k, nth(at, k));
  for (int k = 0; k < out; ++k) builder.equal(in + k, nth(units, k));
  builder.hold(guard);
  builder.hold_all_preconditions();
  return builder.finish();
}

// Rows that are done in one strip have places of their own.
Wrong wrong_ring(const Storage& target, const Nest& nest, const SetSpace& space) {
  if (!nest.strip || target.ring == 0) return std::nullopt;
  if (nest.strip->open)
    return share_places(*nest.strip, target.ring, space)
               ? Wrong("rows that threads write at the same time share a place")
               : std::nullopt;
  std::int64_t before = 0;
  for (const std::int64_t done : nest.strip->done) {
    if (done - before > target.ring) return "rows that threads write at the same time share a place";
    before = done;
  }
  return std::nullopt;
}

}  // namespace

Wrong wrong_threads(const Plan& plan, const Nest& nest, const SetSpace& space) {
  const auto is_parallel = [](const Loop& l) { return l.kind == Loop::Kind::Parallel; };
  if (static_cast<std::size_t>(std::ranges::count_if(nest.loops, is_parallel)) != shared_loops(nest).size())
    return "a parallel loop is inside of one that is not";
  const Storage& target = plan.buffer(nest.target);
  if (target.each_thread && !has_own_tensors(nest))
    return "what each thread has for itself is written for others";
  if (!is_shared(nest)) return std::nullopt;
  if (nest.winograd && !nest.tile && !plan.buffer(nest.winograd->scratch).each_thread)
    return "threads share their scratch memory";
  const Parts parts = nest.tile       ? parts_of_tile(nest)
                      : nest.winograd ? parts_of_winograd(nest)
                                      : parts_of_loops(nest);
  if (!writers(parts, space).is_function()) return "two threads write the same position";
  return wrong_ring(target, nest, space);
}

}  // namespace isomer::lower
