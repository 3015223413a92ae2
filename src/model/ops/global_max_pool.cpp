#include "model/ops/shared/reduced_axes.h"

namespace isomer::ops {
namespace {

Definition define_global_max_pool(const Call& call) {
  require_types(call, is_float);
  if (call.rank(0) < 3) return opaque("no spatial dimensions");
  const auto over = ReducedAxes::from(call.shape(0), 2);
  if (over.is_empty()) return opaque("a pool over an empty input");
  // The runtime refuses images without elements, unless there are none of them.
  call.need(call.shape(0)[0] * (call.shape(0)[1] * product(over.extents()) - Dim(1)));
  auto f = call.formula();
  const auto x = f.input(0);
  const auto p = f.axes(over.kept()), r = f.axes(over.extents());
  f.output(p, reduce(Reduction::Max, r, x.at(over.along(to_indices(p), r))));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kGlobalMaxPool{
    .name = "GlobalMaxPool",
    .doc = "y[n,c] = max x[n,c,...] over all spatial dimensions",
    .define = define_global_max_pool,
    .most_inputs = 1,
};

}  // namespace isomer::ops
