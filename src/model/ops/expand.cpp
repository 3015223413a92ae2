#include <algorithm>

#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_expand(const Call& call) {
  const auto& requested = call.in(1).integers;
  if (!requested) return opaque("the shape input is not known");
  for (const Dim& extent : *requested) {
    if (extent.at_least(0) == false) return invalid("an extent is negative");
    call.need(extent);
  }
  const auto shape = call.broadcast({call.shape(0), *requested});
  if (!shape) {
    if (is_concrete(call.shape(0)) && is_concrete(*requested))
      return invalid("the input does not broadcast to the shape");
    return opaque("whether the input broadcasts to the shape is not known");
  }
  auto f = call.formula();
  const auto p = f.axes(*shape);
  f.output(p, broadcast(f.input(0), p));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kExpand{
    .name = "Expand",
    .doc = "y = x, broadcast with the given shape",
    .define = define_expand,
    .since = 8,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
