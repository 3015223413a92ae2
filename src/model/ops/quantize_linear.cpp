// QuantizeLinear: y = saturate(round(x / scale) + zero point), halves to the even integer; one scale for all,
// one per index of an axis (since opset 13), or one per block of it (since 21). Never taken for its inverse's
// inverse: rounding is what it is for.
#include "model/ops/shared/quantization.h"

namespace isomer::ops {
namespace {

ElementType target_type(const Call& call) {
  if (call.has(2)) return call.type(2);
  const std::int64_t dtype = call.opset >= 21 ? call.integer("output_dtype", 0) : 0;
  if (dtype < 0 || dtype > kLastOnnxType)
    throw IllegalCall("output_dtype is not an element type", "output_dtype");
  return dtype == 0 ? ElementType::Uint8 : static_cast<ElementType>(dtype);
}

Definition define_quantize_linear(const Call& call) {
  const ElementType to = target_type(call), in = call.type(1);
  if (!is_integer(to) || bits(to) > 16) return opaque("quantised to " + std::string(name(to)));
  if (!is_float(in) || (call.type(0) != in && call.type(0) != ElementType::Int32))
    return opaque("an input and a scale of different types");
  if (const auto precision = call.integer("precision", 0);
      precision != 0 && precision != static_cast<std::int64_t>(in))
    return opaque("a division in another precision");
  auto f = call.formula();
  const auto x = f.input(0), scale = f.input(1);
  const auto p = f.axes(x.shape());
  const Expr zero = call.has(2) ? f.input(2).at(parameter_at(call, 2, p)) : integer(to, 0);
  f.output(p, quantize(cast(x.at(to_indices(p)), in), scale.at(parameter_at(call, 1, p)), zero));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kQuantizeLinear{
    .name = "QuantizeLinear",
    .doc = "y = saturate(round(x / scale) + zero point)",
    .define = define_quantize_linear,
    .since = 10,
    .least_inputs = 2,
    .most_inputs = 3,
};

}  // namespace isomer::ops
