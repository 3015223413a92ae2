// Slice: y[p] = x[start + step · p] along each sliced axis. Bounds below zero count from the end and then are
// clamped into the axis. Starts, ends and axes are attributes before opset 10; since then they and the steps
// are inputs.
#include <limits>

#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

// Bounds beyond this mean "to the end" and "from the beginning" whatever the extent.
constexpr std::int64_t kFar = std::int64_t{1} << 62;

bool is_far_below(const Dim& bound) { return bound.is_concrete() && bound.concrete() <= -kFar; }
bool is_far_above(const Dim& bound) {
  return bound.is_concrete() &&
         (bound.concrete() >= kFar || bound.is(std::numeric_limits<std::int32_t>::max()));
}

struct Cut {
  Dim start, count;
};

// From start up to end, clamped: max(start, 0) and min(end, extent); past the other clamps the count is 0
// anyway.
std::optional<Cut> cut_forwards(const Dim& extent, Dim start, Dim end, std::int64_t step) {
  for (Dim* bound : {&start, &end})
    if (is_far_below(*bound)) *bound = 0;
  const auto from_start = start.at_least(0), end_from_start = end.at_least(0);
  if (!from_start || !end_from_start) return std::nullopt;
  const Dim stop = is_far_above(end) ? extent : *end_from_start ? Dim::min(end, extent) : extent + end;
  if (*from_start) return Cut{.start = start, .count = Dim::ceil(Dim::max(stop - start, 0), step)};
  const Dim first = extent + start;
  // stop - max(first, 0), written so that the last k elements of an axis are min(k, extent).
  const Dim length = Dim::min(stop - first, stop);
  // The last element is at extent - 1, or there is none.
  return Cut{.start = start.is(-1) ? first : Dim::max(first, 0),
             .count = Dim::ceil(Dim::max(length, 0), step)};
}

// From start down to end, which is not included: start is clamped into 0..extent-1, end into -1..extent-1.
std::optional<Cut> cut_backwards(const Dim& extent, const Dim& start, const Dim& end, std::int64_t step) {
  const auto from_start = start.at_least(0), end_from_start = end.at_least(0);
  if (!from_start || !end_from_start) return std::nullopt;
  if (extent.is(0)) return Cut{.start = 0, .count = 0};
  const Dim last = extent - Dim(1);
  Dim first = last;
  if (start.is_concrete() && start.concrete() >= kFar) first = last;
  else if (*from_start) first = Dim::min(start, last);
  else if (is_far_below(start)) first = Dim::min(0, last);
  else if (!start.is(-1)) {
    if (!extent.is_concrete()) return std::nullopt;  // an axis without elements has no position to clamp to
    first = Dim::max(extent + start, 0);
  }
  const Dim stop = *end_from_start ? end : is_far_below(end) ? Dim(-1) : Dim::max(extent + end, -1);
  return Cut{.start = first, .count = Dim::ceil(Dim::max(first - stop, 0), -step)};
}

Definition define_slice(const Call& call) {
  const auto starts = integer_list(call, "starts", 1, 10), ends = integer_list(call, "ends", 2, 10);
  const auto axes = integer_list(call, "axes", 3, 10);
  if (!starts.given || !ends.given) return invalid("starts or ends are missing");
  if (!starts.values || !ends.values) return opaque("starts or ends are not known");
  if (starts.values->size() != ends.values->size()) return invalid("starts and ends differ in length");
  std::vector<std::int64_t> named, steps(starts.values->size(), 1);
  for (std::size_t i = 0; i < starts.values->size(); ++i) named.push_back(static_cast<std::int64_t>(i));
  if (axes.given) {
    if (!axes.concrete()) return opaque("the axes are not known");
    named = *axes.concrete();
  }
  if (call.opset >= 10 && call.has(4)) {
    const auto known = integer_list(call, "", 4, 10).concrete();
    if (!known) return opaque("the steps are not known");
    steps = *known;
  }
  const auto normalized = normalize_axes(named, call.rank(0));
  if (!normalized) return invalid("axes are outside of the input's rank, or repeated", "axes");
  if (normalized->size() != starts.values->size() || steps.size() != starts.values->size())
    return invalid("starts, axes and steps differ in length");

  auto f = call.formula();
  const auto x = f.input(0);
  std::vector<Dim> offsets(x.shape().size(), 0), scales(x.shape().size(), 1);
  Dims shape = x.shape();
  for (std::size_t i = 0; i < normalized->size(); ++i) {
    const auto axis = static_cast<std::size_t>((*normalized)[i]);
    const Dim &start = (*starts.values)[i], &end = (*ends.values)[i];
    if (steps[i] == 0) return invalid("a step is 0");
    // Taken as "to the end" by the runtime also when going backwards, where the specification has it at the
    // last element.
    if (steps[i] < 0 && (end.is(std::numeric_limits<std::int32_t>::max()) ||
                         end.is(std::numeric_limits<std::int64_t>::max())))
      return opaque("going backwards to the end");
    const auto cut = steps[i] > 0 ? cut_forwards(shape[axis], start, end, steps[i])
                                  : cut_backwards(shape[axis], start, end, steps[i]);
    if (!cut) return opaque("on which side of zero a bound lies is not known");
    offsets[axis] = cut->start, scales[axis] = steps[i], shape[axis] = cut->count;
  }
  const auto p = f.axes(shape);
  std::vector<Index> at;
  for (std::size_t i = 0; i < p.size(); ++i) at.push_back(scales[i] * Index(p[i]) + Index(offsets[i]));
  f.output(p, x.at(at));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kSlice{
    .name = "Slice",
    .doc = "y[p] = x[start + step · p]",
    .define = define_slice,
    .most_inputs = 5,
};

}  // namespace isomer::ops
