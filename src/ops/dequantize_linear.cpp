// DequantizeLinear: y = (x - zero point) · scale; one scale for all, one per index of an axis (since opset
// 13), or one per block of it (since 21).
#include "ops/quantization.h"

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

void sample_dequantize_linear(Sampler& s) {
  using enum ElementType;
  const Extents shape = s.shape(1, 4);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t axis = s.between(0, rank - 1), block = s.between(1, 3);
  const bool per_axis = s.opset() >= 13 && s.chance(0.5);
  Extents parameter = per_axis ? Extents{shape[static_cast<std::size_t>(axis)]} : Extents{};
  if (s.opset() >= 21 && per_axis && s.chance(0.4)) {
    parameter = shape;
    auto& along = parameter[static_cast<std::size_t>(axis)];
    along = (along + block - 1) / block;
    s.attribute("block_size", block);
  }
  if (per_axis) s.attribute("axis", s.chance(0.5) ? axis : axis - rank);
  const ElementType type =
      s.opset() >= 21 ? s.pick({Uint8, Int8, Uint16, Int16, Int32}) : s.pick({Uint8, Int8, Int32});
  s.input(type, shape, type == Int32 ? Sampler::Values::Normal : Sampler::Values::Wide);
  s.input(Float, parameter, Sampler::Values::Positive);
  if (type != Int32 && s.chance(0.7)) s.input(type, parameter, Sampler::Values::Wide);
}

}  // namespace

extern const Operator kDequantizeLinear{
    .name = "DequantizeLinear",
    .doc = "y = (x - zero point) · scale",
    .define = define_dequantize_linear,
    .sample = sample_dequantize_linear,
    .since = 10,
    .least_inputs = 2,
    .most_inputs = 3,
};

}  // namespace isomer::ops
