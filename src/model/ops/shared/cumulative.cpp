#include "model/ops/shared/cumulative.h"

namespace isomer {

Definition define_cumulative(const Call& call, Reduction reduction) {
  require_types(call, is_number, 1);
  const auto& known = call.in(1).integers;
  if (!known || known->size() != 1 || !known->front().is_concrete()) return opaque("the axis is not known");
  const auto axis = normalize_axis(known->front().concrete(), call.rank(0));
  if (!axis) return invalid("axis is outside of the input's rank");
  auto f = call.formula();
  const auto x = f.input(0);
  const auto p = f.axes(x.shape());
  const Axis i = f.axis(x.extent(*axis));
  auto at = to_indices(p);
  const Index here = at[static_cast<std::size_t>(*axis)];
  at[static_cast<std::size_t>(*axis)] = i;
  const Index distance = call.flag("reverse", false) ? Index(i) - here : here - Index(i);
  const Index least = call.flag("exclusive", false) ? 1 : 0;
  f.output(p, reduce(reduction, {i}, x.at(at), {distance - least}));
  return std::move(f).finish();
}

}  // namespace isomer
