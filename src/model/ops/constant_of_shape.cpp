#include "model/ops/shared/define.h"

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

}  // namespace

extern const Operator kConstantOfShape{
    .name = "ConstantOfShape",
    .doc = "y[p] = value",
    .define = define_constant_of_shape,
    .since = 9,
    .most_inputs = 1,
};

}  // namespace isomer::ops
