#include "model/ops/shared/reduce.h"

#include <algorithm>

namespace isomer {

ReducedAxes read_reduced_axes(const Call& call, const Fold& fold) {
  require_types(call, fold.accepts, 1);
  const bool axes_input = call.opset >= fold.axes_input_since;
  if (call.input_count() > (axes_input ? 2 : 1)) throw IllegalCall("too many inputs");
  const IntegerList list = integer_list(call, "axes", 1, fold.axes_input_since);
  const auto values = list.concrete();
  if (list.given && !values) throw OpaqueCall("the axes are not known");
  const Dims& shape = call.shape(0);
  std::vector<bool> reduced(shape.size(), false);
  if (!values || values->empty()) {
    const bool keeps_all = axes_input && call.flag("noop_with_empty_axes", false);
    reduced.assign(shape.size(), !keeps_all);
  } else {
    const auto axes = normalize_axes(*values, call.rank(0));
    if (!axes) throw IllegalCall("an axis is outside of the input's rank or there twice", "axes");
    for (const int axis : *axes) reduced[static_cast<std::size_t>(axis)] = true;
  }
  ReducedAxes over(shape, std::move(reduced));
  if (over.is_empty() && !fold.of_nothing) throw OpaqueCall("a reduction of no elements");
  // An extremum over an empty domain is infinite, but integers have a smallest one; the runtime returns 0 as
  // the mean of an empty domain.
  const Dim missing = product(over.kept()) * (product(over.extents()) - Dim(1));
  if (!fold.of_nothing && is_float(call.type(0)) && fold.finish == nullptr) call.need(missing);
  else if (!fold.of_nothing) call.exact_if(missing);
  // For an empty tensor the runtime ignores axes that count from the end, though it runs where that makes no
  // difference.
  if (values && std::ranges::any_of(*values, [](std::int64_t a) { return a < 0; }))
    call.runs_if(product(shape) - Dim(1));
  return over;
}

Reduced::Reduced(FormulaBuilder& f, const ReducedAxes& over, bool keep)
    : axes(f.axes(keep ? over.kept() : over.dropped())) {
  position = keep ? to_indices(axes) : over.widen(to_indices(axes));
}

Definition define_reduce(const Call& call, const Fold& fold) {
  const ReducedAxes over = read_reduced_axes(call, fold);
  auto f = call.formula();
  const auto x = f.input(0);
  const Reduced y(f, over, call.flag("keepdims", true));
  const auto r = f.axes(over.extents());
  Expr value = x.at(over.along(y.position, r));
  // Booleans are ordered as numbers.
  if (x.type() == ElementType::Bool) value = cast(value, ElementType::Uint8);
  if (fold.each) value = fold.each(value);
  if (!r.empty()) value = reduce(fold.reduction, r, value);
  if (fold.finish) value = fold.finish(value, over.count(value.type()));
  f.output(y.axes, cast(value, x.type()));
  return std::move(f).finish();
}

}  // namespace isomer
