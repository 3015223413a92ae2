#include "compiler/schedule/legality.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "compiler/schedule/legality_parts.h"
#include "model/expr/reads.h"

namespace isomer::lower {
namespace {

// All positions differ and are positions of the target.
Wrong wrong_write(const Plan& plan, const Nest& nest, const SetSpace& space) {
  const Storage& target = plan.buffer(nest.target);
  const Relation to = access(space, nest.axes, nest.at, {});
  if (!to.is_injective()) return "a position is written twice";
  if (!to.range().is_subset_of(box(space, target.extents))) return "it writes outside of its target";
  return std::nullopt;
}

// Whether an index is one of these axes with this extent: no set operation is needed.
bool is_axis_of(const Index& at, const std::vector<Axis>& axes, const Dim& extent) {
  return std::ranges::any_of(axes, [&](const Axis& a) { return a.extent == extent && at == Index(a); });
}

// Reads without a check stay inside the memory: the tensor and the zeros around it.
Wrong wrong_read(const Plan& plan, const Nest& nest, const SetSpace& space, const ExprNode& e,
                 const std::vector<Axis>& around) {
  const Storage& source = plan.buffer(e.tensor.number);
  if (source.extents.size() != e.at.size() || source.extents != e.extents)
    return "a read is of another shape";
  if (source.each_thread && !has_own_tensors(nest))
    return "what each thread has for itself is read by others";
  std::vector<Axis> axes = nest.axes;
  axes.insert(axes.end(), around.begin(), around.end());
  for (std::size_t d = 0; d < e.at.size(); ++d) {
    if (!stays_inside(source, d, e.at[d]) || is_axis_of(e.at[d], axes, source.extents[d]))
      continue;  // the code checks, or there is nothing to check
    const std::int64_t low = source.low.empty() ? 0 : source.low[d],
                       high = source.high.empty() ? 0 : source.high[d];
    // Axes that it does not depend on could only take positions away.
    std::vector<Axis> over;
    std::ranges::copy_if(axes, std::back_inserter(over), [&](const Axis& a) { return e.at[d].mentions(a); });
    const Relation to = access(space, over, {e.at[d] + Index(low)}, {});
    if (!to.range().is_subset_of(box(space, {source.extents[d] + Dim(low + high)})))
      return fmt::format("it reads outside of {}", source.name);
  }
  return std::nullopt;
}

Wrong wrong_reads(const Plan& plan, const Nest& nest, const SetSpace& space) {
  Wrong wrong;
  std::vector<Axis> reduced;
  for_each_read(*nest.value, reduced, [&](const ExprNode& e, const std::vector<Axis>& around) {
    if (!wrong) wrong = wrong_read(plan, nest, space, e, around);
  });
  return wrong;
}

// Whether what a nest reads has been written as a whole by those before it, and nothing is written twice.
Wrong out_of_order(const Plan& plan) {
  const SetSpace space = space_of(plan);
  std::map<int, Points> written;
  const auto is_whole = [&](int buffer) {
    const Storage& s = plan.buffer(buffer);
    if (s.kind == Storage::Kind::Input || s.kind == Storage::Kind::Weight) return true;
    const auto at = written.find(buffer);
    return at != written.end() && at->second == box(space, s.extents);
  };
  for (const Nest& nest : plan.nests) {
    for (const int buffer : read_by(nest))
      if (!is_whole(buffer))
        return fmt::format("{}: it reads {} before it is written", nest.name, plan.buffer(buffer).name);
    const Points now = access(space, nest.axes, nest.at, {}).range();
    const auto [at, is_first] = written.try_emplace(nest.target, now);
    if (is_first) continue;
    if (!(at->second & now).is_empty())
      return fmt::format("{}: it writes again what another nest has written", nest.name);
    at->second = (at->second | now).coalesce();
  }
  for (const Port& p : plan.outputs)
    if (!is_whole(p.buffer)) return fmt::format("output {} is not written as a whole", p.name);
  return std::nullopt;
}

}  // namespace

// The points of the loops that the guard lets through are the instances of the formula, each once.
Wrong wrong_loops(const Nest& nest, const SetSpace& space) {
  std::vector<Axis> over, axes;
  std::vector<Index> to;
  for (const Loop& l : nest.loops) over.push_back(l.axis);
  for (const AxisOfLoops& a : nest.of) {
    axes.push_back(a.axis);
    to.push_back(a.index);
  }
  for (const Axis& a : axes_of(nest))
    if (std::ranges::count(axes, a) != 1) return "an axis has no loops, or is there twice";
  if (axes.size() != axes_of(nest).size()) return "a loop belongs to no axis";
  for (std::size_t k = 0; k + 1 < nest.loops.size(); ++k)
    if (nest.loops[k].kind == Loop::Kind::Vector) return "a vector loop is not the innermost one";
  if (nest.lanes && (nest.loops.empty() || nest.loops.back().axis.extent.concrete() > 16 ||
                     nest.loops.back().axis.extent.concrete() < 1 || !nest.guard.empty()))
    return "what goes at once are more than sixteen elements";
  if (nest.reduction) {
    const auto first = std::ranges::find_if(nest.loops, [&](const Loop& l) { return is_reduced(nest, l); });
    if (std::any_of(first, nest.loops.end(),
                    [&](const Loop& l) { return !is_reduced(nest, l) && !l.axis.extent.is_concrete(); }))
      return "a loop of an open size is inside of a sum";
  }
  const Relation instances = access(space, over, to, nest.guard);
  if (!instances.is_injective()) return "an instance runs twice";
  if (!(instances.range() == box(space, extents_of(axes))))
    return "the loops run other instances than the formula has";
  return std::nullopt;
}

std::optional<std::string> illegal(const Plan& plan, const Nest& nest) {
  try {
    const SetSpace space = space_of(plan);
    Wrong wrong = nest.tile       ? wrong_tile(plan, nest, space)
                  : nest.winograd ? wrong_winograd(plan, nest)
                                  : wrong_loops(nest, space);
    if (!wrong && nest.call) wrong = wrong_call(plan, nest, space);
    if (!wrong) wrong = wrong_write(plan, nest, space);
    if (!wrong) wrong = wrong_reads(plan, nest, space);
    if (!wrong && nest.strip) wrong = wrong_strip(nest);
    if (!wrong) wrong = wrong_threads(plan, nest, space);
    return wrong;
  } catch (const Undecided& open) {
    return fmt::format("undecided: {}", open.what());
  }
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
