#include "ops/define.h"

namespace isomer::ops {
namespace {

Definition define_constant_of_shape(const Call& call) {
  const auto& shape = call.in(0).integers;
  if (!shape) return opaque("the shape is not known");
  for (const Dim& extent : *shape) {
    if (extent.at_least(0) == false) return invalid("an extent is negative");
    call.need(extent);
  }
  Expr value = number(ElementType::Float, 0);
  if (call.has_attribute("value")) {
    const auto* tensor = call.attributes.find_as<Tensor>("value");
    if (!tensor || tensor->count() != 1) return invalid("value must be a tensor of one element", "value");
    if (!is_computable(tensor->type())) return opaque("element type " + std::string(name(tensor->type())));
    value = constant_element(*tensor, 0);
  }
  auto f = call.formula();
  f.output(f.axes(*shape), value);
  return std::move(f).finish();
}

void sample_constant_of_shape(Sampler& s) {
  Extents shape = s.shape(0, 4);
  if (!shape.empty() && s.chance(0.1)) shape[0] = 0;
  s.integers(shape);
  if (s.chance(0.3)) return;
  s.input(s.pick({ElementType::Float, ElementType::Double, ElementType::Int64, ElementType::Int32,
                  ElementType::Uint8, ElementType::Bool}),
          {1});
  s.attribute("value", s.inputs.back().value);
  s.inputs.pop_back();
}

}  // namespace

extern const Operator kConstantOfShape{
    .name = "ConstantOfShape",
    .doc = "y[p] = value",
    .define = define_constant_of_shape,
    .sample = sample_constant_of_shape,
    .since = 9,
    .most_inputs = 1,
};

}  // namespace isomer::ops
