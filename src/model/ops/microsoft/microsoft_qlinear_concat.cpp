// com.microsoft.QLinearConcat: the inputs dequantised, one after the other along an axis, quantised again.
#include "model/ops/shared/quantization.h"

namespace isomer::ops {
namespace {

// Inputs: the result's scale and zero point, then each operand with its own.
Definition define_qlinear_concat(const Call& call) {
  if (call.input_count() < 5 || call.input_count() % 3 != 2)
    return invalid("each input needs a scale and a zero point");
  QuantizedComposition c(call);
  Composition::Operands values;
  for (int k = 2; k < call.input_count(); k += 3) {
    require_bytes(call, {k});
    if (call.type(k + 1) != ElementType::Float) return opaque("a scale that is no float");
    if (call.type(k) != call.type(2)) return invalid("the inputs have different types");
    values.emplace_back(c.dequantize({.x = k, .scale = k + 1, .zero = k + 2}));
  }
  c.output_quantized(c.of("Concat", values, c.attributes({"axis"})), 0, 1, call.type(2));
  return std::move(c.f).finish();
}

}  // namespace

extern const Operator kMicrosoftQLinearConcat{
    .name = "QLinearConcat",
    .doc = "y = quantised(the dequantised inputs, one after the other along an axis)",
    .define = define_qlinear_concat,
    .domain = "com.microsoft",
    .least_inputs = 5,
    .most_inputs = 1 << 30,
};

}  // namespace isomer::ops
