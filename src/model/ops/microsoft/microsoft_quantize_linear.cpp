// com.microsoft.QuantizeLinear and DequantizeLinear: ONNX's, in models of opsets in which those have no
// 16 bits and no blocks.
#include "model/ops/shared/composition.h"
#include "model/ops/shared/require_shape.h"

namespace isomer::ops {
namespace {

Definition define_as(const Call& call, std::string_view op) {
  if (call.has(2)) require_shape(call, 2, call.shape(1));
  Composition c(call);
  c.output(c.of(op, {c.input(0), c.input(1), c.input(2)}, c.attributes({"axis", "block_size"})));
  return std::move(c.f).finish();
}

}  // namespace

extern const Operator kMicrosoftDequantizeLinear{
    .name = "DequantizeLinear",
    .doc = "y = (x - zero point) · scale",
    .define = [](const Call& call) { return define_as(call, "DequantizeLinear"); },
    .domain = "com.microsoft",
    .least_inputs = 2,
    .most_inputs = 3,
};

extern const Operator kMicrosoftQuantizeLinear{
    .name = "QuantizeLinear",
    .doc = "y = saturate(round(x / scale) + zero point)",
    .define = [](const Call& call) { return define_as(call, "QuantizeLinear"); },
    .domain = "com.microsoft",
    .least_inputs = 2,
    .most_inputs = 3,
};

}  // namespace isomer::ops
