// com.microsoft.QLinearWhere: x where the condition holds, else y, both dequantised; quantised again.
#include "model/ops/shared/quantization.h"

namespace isomer::ops {
namespace {

Definition define_qlinear_where(const Call& call) {
  require_bytes(call, {1, 4});
  if (call.type(1) != call.type(4)) return invalid("the inputs have different types");
  QuantizedComposition c(call);
  const auto x = c.dequantize({.x = 1, .scale = 2, .zero = 3}),
             y = c.dequantize({.x = 4, .scale = 5, .zero = 6});
  c.output_quantized(c.of("Where", {c.input(0), x, y}), 7, 8, call.type(1));
  return std::move(c.f).finish();
}

}  // namespace

extern const Operator kMicrosoftQLinearWhere{
    .name = "QLinearWhere",
    .doc = "z = quantised(x where the condition holds, else y), of dequantised operands",
    .define = define_qlinear_where,
    .domain = "com.microsoft",
    .least_inputs = 9,
    .most_inputs = 9,
};

}  // namespace isomer::ops
