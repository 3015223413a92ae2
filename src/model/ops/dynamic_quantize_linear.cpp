// DynamicQuantizeLinear: scale = (max(x, 0) - min(x, 0)) / 255, zero point = round(-min(x, 0) / scale), y =
// saturate(round(x / scale) + zero point) as uint8. Where all of x is zero, the scale is 1, as ONNX Runtime
// has it.
#include "model/ops/shared/quantization.h"

namespace isomer::ops {
namespace {

Definition define_dynamic_quantize_linear(const Call& call) {
  require_types(call, is_float);
  auto f = call.formula();
  const auto x = f.input(0);
  if (product(x.shape()).is(0)) return opaque("a range of no elements");
  call.exact_if(product(x.shape()) - Dim(1));
  const auto zero = number(x.type(), 0);
  const auto extremum = [&](Reduction reduction, Fn fn) {
    const auto r = f.axes(x.shape());
    const Expr all = r.empty() ? x() : reduce(reduction, r, x.at(to_indices(r)));
    return f.stage({}, apply(fn, {all, zero}));
  };
  const auto low = extremum(Reduction::Min, Fn::Min), high = extremum(Reduction::Max, Fn::Max);
  const Expr range = high() - low();
  const auto scale = f.stage({}, where(apply(Fn::Equal, {range, zero}), number(x.type(), 1), range / 255.0));
  const auto point = f.stage({}, saturate(apply(Fn::Round, {-low() / scale()}), ElementType::Uint8));
  const auto p = f.axes(x.shape());
  f.output(p, quantize(x.at(to_indices(p)), scale(), point()));
  f.output({}, scale());
  f.output({}, point());
  return std::move(f).finish();
}

}  // namespace

extern const Operator kDynamicQuantizeLinear{
    .name = "DynamicQuantizeLinear",
    .doc = "y = saturate(round(x / scale) + zero point), with scale and zero point from the range of x",
    .define = define_dynamic_quantize_linear,
    .since = 11,
    .most_inputs = 1,
};

}  // namespace isomer::ops
