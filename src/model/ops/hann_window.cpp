// HannWindow: sin²(πi / n), and what the window functions share.
#include "model/ops/shared/window_function.h"

#include <numbers>

namespace isomer {

Definition define_window_function(const Call& call, double a0, double a1, double a2) {
  const auto& known = call.in(0).integers;
  if (!known || known->size() != 1) return opaque("the size is not known");
  const std::int64_t dtype = call.integer("output_datatype", 1);
  if (dtype < 1 || dtype > kLastOnnxType) return invalid("not an element type", "output_datatype");
  const auto type = static_cast<ElementType>(dtype);
  if (!is_float(type)) return opaque("a window of integers");
  const Dim& size = known->front();
  if (size.at_least(0) == false) return invalid("the size is negative");
  auto f = call.formula();
  const auto i = f.axis(size);
  const Dim period = call.flag("periodic", true) ? size : size - Dim(1);
  if (period.is(0) && !size.is(0)) return opaque("a window of one element that is not periodic");
  const Expr turn = index_number(i, type) * (2 * std::numbers::pi) / index_number(Index(period), type);
  Expr y = a0 - apply(Fn::Cos, {turn}) * a1;
  if (a2 != 0) y = y + apply(Fn::Cos, {turn * 2}) * a2;
  f.output({i}, y);
  return std::move(f).finish();
}

namespace ops {

extern const Operator kHannWindow{
    .name = "HannWindow",
    .doc = "y = 1/2 - 1/2 · cos(2πi / n)",
    .define = [](const Call& call) { return define_window_function(call, 0.5, 0.5, 0); },
    .since = 17,
    .most_inputs = 1,
};

}  // namespace ops
}  // namespace isomer
