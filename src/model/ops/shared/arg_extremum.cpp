// y = min { i : x[i] = max x }, written as min_i (i if x[i] = max x, else the extent). There is such an i, so
// that y lies inside of the axis: the formula says that, too.
#include "model/ops/shared/arg_extremum.h"

#include "model/ops/shared/reduce.h"

namespace isomer {

Definition define_arg_extremum(const Call& call, Reduction extremum) {
  require_types(call, is_number);
  const auto axis = normalize_axis(call.integer("axis", 0), call.rank(0));
  if (!axis) return invalid("axis is outside of the input's rank", "axis");
  const auto over = ReducedAxes::only(call.shape(0), *axis);
  if (over.is_empty()) return opaque("a reduction of no elements");
  call.need(product(over.kept()) * (product(over.extents()) - Dim(1)));
  // For an empty tensor the runtime ignores axes that count from the end.
  if (call.integer("axis", 0) < 0) call.need(product(call.shape(0)) - Dim(1));
  const bool last = call.flag("select_last_index", false);

  auto f = call.formula();
  const auto x = f.input(0);
  const auto best = reduce_stage(f, over, extremum, [&](const std::vector<Index>& at) { return x.at(at); });
  const Reduced y(f, over, call.flag("keepdims", true));
  const auto r = f.axes(over.extents());
  const Expr is_best = apply(Fn::Equal, {x.at(over.along(y.position, r)), best.at(y.position)});
  const Expr place = where(is_best, index_number(r[0]), index_number(last ? Index(-1) : Index(r[0].extent)));
  const Expr found = reduce(last ? Reduction::Max : Reduction::Min, r, place);
  const Expr below = apply(Fn::Min, {found, index_number(Index(r[0].extent - Dim(1)))});
  f.output(y.axes, apply(Fn::Max, {below, integer(ElementType::Int64, 0)}));
  return std::move(f).finish();
}

}  // namespace isomer
