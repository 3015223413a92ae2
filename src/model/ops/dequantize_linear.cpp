// DequantizeLinear: y = (x - zero point) · scale; one scale for all, one per index of an axis (since opset
// 13), or one per block of it (since 21).
#include "model/ops/shared/quantization.h"

namespace isomer::ops {
namespace {

Definition define_dequantize_linear(const Call& call) {
  if (!is_integer(call.type(0)) || !is_float(call.type(1))) return opaque("an input that is not of integers");
  const std::int64_t dtype = call.integer("output_dtype", 0);
  if (dtype != 0 && dtype != static_cast<std::int64_t>(call.type(1)))
    return opaque("an output of another type than the scale");
  auto f = call.formula();
  const auto x = f.input(0), scale = f.input(1);
  const auto p = f.axes(x.shape());
  const Expr zero = call.has(2) ? f.input(2).at(parameter_at(call, 2, p)) : Expr();
  const Expr steps = centred(x.at(to_indices(p)), zero, ElementType::Int64);
  f.output(p, cast(steps, scale.type()) * scale.at(parameter_at(call, 1, p)));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kDequantizeLinear{
    .name = "DequantizeLinear",
    .doc = "y = (x - zero point) · scale",
    .define = define_dequantize_linear,
    .since = 10,
    .least_inputs = 2,
    .most_inputs = 3,
};

}  // namespace isomer::ops
