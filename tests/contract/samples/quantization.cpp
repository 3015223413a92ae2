// Samples of quantizers.
#include "contract/samples/samples.h"

namespace isomer::contract::samples {

void DequantizeLinear(Sampler& s) {
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

void DynamicQuantizeLinear(Sampler& s) {
  s.input(ElementType::Float, s.shape(1, 4));
  s.outputs(3);
}

void QuantizeLinear(Sampler& s) {
  using enum ElementType;
  const Extents shape = s.shape(1, 4);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t axis = s.between(0, rank - 1);
  const bool per_axis = s.opset() >= 13 && s.chance(0.5);
  const bool blocked = s.opset() >= 21 && per_axis && s.chance(0.4);
  Extents parameter = per_axis ? Extents{shape[static_cast<std::size_t>(axis)]} : Extents{};
  const std::int64_t block = s.between(1, 3);
  if (blocked) {
    parameter = shape;
    auto& along = parameter[static_cast<std::size_t>(axis)];
    along = (along + block - 1) / block;
    s.attribute("block_size", block);
  }
  if (per_axis) s.attribute("axis", s.chance(0.5) ? axis : axis - rank);
  // Powers of two: a quotient that is a half in float is one in double.
  std::vector<float> scales(static_cast<std::size_t>(*element_count(parameter)));
  for (float& scale : scales) scale = s.pick({0.25F, 0.5F, 1.0F, 0.015625F});
  s.input(Float, shape, Sampler::Values::Halves);
  s.constant(Tensor::of(Float, parameter, scales));
  s.inputs.back().constant = s.chance(0.5);
  if (s.chance(0.7))
    s.input(s.opset() >= 21 ? s.pick({Uint8, Int8, Uint16, Int16}) : s.pick({Uint8, Int8}), parameter,
            Sampler::Values::Wide);
}

}  // namespace isomer::contract::samples
