// LpNormalization: y = x / norm(x) along an axis, with the norm of |x| or of x²; zero where the norm is zero.
#include "model/ops/shared/lp_norm.h"
#include "model/ops/shared/reduced_axes.h"

namespace isomer::ops {
namespace {

Definition define_lp_normalization(const Call& call) {
  require_types(call, is_float);
  const std::int64_t norm = read_norm(call);
  if (norm > 2) return invalid("p must be 1 or 2", "p");
  const auto axis = normalize_axis(call.integer("axis", -1), call.rank(0));
  if (!axis) return invalid("axis is outside of the input's rank", "axis");
  auto f = call.formula();
  const auto x = f.input(0);
  const auto over = ReducedAxes::only(x.shape(), *axis);
  const auto q = f.axes(over.kept()), r = f.axes(over.extents());
  const auto size = f.stage(q, norm_root(sum(r, norm_term(x.at(over.along(to_indices(q), r)), norm)), norm));
  const auto p = f.axes(x.shape());
  const Expr own = size.at(over.squash(to_indices(p))), zero = number(x.type(), 0);
  f.output(p, where(apply(Fn::Equal, {own, zero}), zero, x.at(to_indices(p)) / own));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kLpNormalization{
    .name = "LpNormalization",
    .doc = "y = x / norm(x) along an axis",
    .define = define_lp_normalization,
    .most_inputs = 1,
};

}  // namespace isomer::ops
