// Concat: the inputs one after the other along an axis. A case distinction and not a sum, so that -0 and NaN
// stay what they are.
#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_concat(const Call& call) {
  if (!call.has_attribute("axis")) return invalid("axis is missing", "axis");
  const auto axis = normalize_axis(call.integer("axis", 0), call.rank(0));
  if (!axis) return invalid("axis is outside of the inputs' rank", "axis");
  const auto at_axis = static_cast<std::size_t>(*axis);
  Dims shape = call.shape(0);
  shape[at_axis] = 0;
  for (int k = 0; k < call.input_count(); ++k) {
    const Dims& part = call.shape(k);
    if (part.size() != shape.size()) return invalid("the inputs have different ranks");
    if (call.type(k) != call.type(0)) return invalid("the inputs have different types");
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (i == at_axis) continue;
      if (!call.may_equal(part[i], shape[i]))
        return invalid("the inputs have different extents outside of the axis");
      if (part[i].is_concrete()) shape[i] = part[i];  // all are equal, so a known one is all of them
    }
    shape[at_axis] = shape[at_axis] + part[at_axis];
  }
  auto f = call.formula();
  const auto p = f.axes(shape);
  std::vector<std::pair<Domain, Expr>> parts;
  Dim start = 0;
  for (int k = 0; k < call.input_count(); ++k) {
    const auto x = f.input(k);
    const Dim end = start + x.extent(*axis);
    std::vector<Index> at = to_indices(p);
    at[at_axis] = at[at_axis] - Index(start);
    if (!(end == start)) parts.emplace_back(between(start, p[at_axis], end), x.at(at));
    start = end;
  }
  Expr last = integer(call.type(0), 0);  // unused: nothing is left over, or there are no elements
  if (!parts.empty()) last = parts.back().second, parts.pop_back();
  f.output(p, parts.empty() ? last : cases(std::move(parts), last));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kConcat{
    .name = "Concat",
    .doc = "y = the inputs, one after the other along an axis",
    .define = define_concat,
};

}  // namespace isomer::ops
