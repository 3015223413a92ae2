// y = min { i : x[i] = max x }, written as min_i (i if x[i] = max x, else the extent).
#include "ops/arg_extremum.h"

#include "ops/reduce.h"

namespace isomer {

Definition define_arg_extremum(const Call& call, Reduction extremum) {
  require_types(call, is_number);
  const auto axis = normalize_axis(call.integer("axis", 0), call.rank(0));
  if (!axis) return invalid("axis is outside of the input's rank", "axis");
  const auto over = ReducedAxes::only(call.shape(0), *axis);
  if (over.is_empty()) return opaque("a reduction of no elements");
  call.need(product(over.kept()) * (product(over.extents()) - Dim(1)));
  // Of no elements the runtime forgets axes that count from the end.
  if (call.integer("axis", 0) < 0) call.need(product(call.shape(0)) - Dim(1));
  const bool last = call.flag("select_last_index", false);

  auto f = call.formula();
  const auto x = f.input(0);
  const auto best = reduce_stage(f, over, extremum, [&](const std::vector<Index>& at) { return x.at(at); });
  const Reduced y(f, over, call.flag("keepdims", true));
  const auto r = f.axes(over.extents());
  const Expr is_best = apply(Fn::Equal, {x.at(over.along(y.position, r)), best.at(y.position)});
  const Expr place = where(is_best, index_number(r[0]), index_number(last ? Index(-1) : Index(r[0].extent)));
  f.output(y.axes, reduce(last ? Reduction::Max : Reduction::Min, r, place));
  return std::move(f).finish();
}

void sample_arg_extremum(Sampler& s) {
  const Extents shape = s.shape(1, 4);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto type = s.pick({ElementType::Float, ElementType::Double, ElementType::Int32, ElementType::Int64,
                            ElementType::Int8, ElementType::Uint8});
  // Small values, so that there are ties.
  s.input(type, shape, s.chance(0.5) || is_integer(type) ? Sampler::Values::Small : Sampler::Values::Normal);
  if (s.chance(0.8)) s.attribute("axis", s.between(s.opset() < 11 ? 0 : -rank, rank - 1));
  if (s.chance(0.6)) s.attribute("keepdims", s.between(0, 1));
  if (s.opset() >= 12 && s.chance(0.5)) s.attribute("select_last_index", s.between(0, 1));
}

}  // namespace isomer
