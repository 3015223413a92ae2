#include "model/ops/shared/lp_norm.h"
#include "model/ops/shared/reduced_axes.h"

namespace isomer::ops {
namespace {

Definition define_global_lp_pool(const Call& call) {
  require_types(call, is_float);
  if (call.rank(0) < 3) return opaque("no spatial dimensions");
  const std::int64_t norm = read_norm(call);
  const auto over = ReducedAxes::from(call.shape(0), 2);
  // The runtime refuses images without elements, unless there are none of them.
  call.need(call.shape(0)[0] * (call.shape(0)[1] * product(over.extents()) - Dim(1)));
  auto f = call.formula();
  const auto x = f.input(0);
  const auto p = f.axes(over.kept()), r = f.axes(over.extents());
  f.output(p, norm_root(sum(r, norm_term(x.at(over.along(to_indices(p), r)), norm)), norm));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kGlobalLpPool{
    .name = "GlobalLpPool",
    .doc = "y[n,c] = (Σ |x[n,c,...]|^p)^(1/p) over all spatial dimensions",
    .define = define_global_lp_pool,
    .most_inputs = 1,
};

}  // namespace isomer::ops
