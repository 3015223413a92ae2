// com.microsoft.QLinearAdd, QLinearMul, QLinearSigmoid and QLinearLeakyRelu: the operands dequantised, Add,
// Mul, Sigmoid or LeakyRelu of them, and the result quantised. ONNX Runtime works in float, by a table of all
// 256 cases or with ratios of scales: a result within rounding of a half may be one step off there.
#include "model/ops/shared/quantization.h"

namespace isomer::ops {
namespace {

// Inputs: each operand with its scale and zero point, then the result's.
Definition define_quantized(const Call& call, std::string_view op, int operands,
                            std::initializer_list<std::string_view> attributes = {}) {
  QuantizedComposition c(call);
  Composition::Operands values;
  for (int k = 0; k < operands; ++k) {
    require_bytes(call, {3 * k});
    if (call.type(3 * k) != call.type(0)) return invalid("operands of different types");
    values.emplace_back(c.dequantize({.x = 3 * k, .scale = 3 * k + 1, .zero = 3 * k + 2}));
  }
  c.output_quantized(c.of(op, values, c.attributes(attributes)), 3 * operands, 3 * operands + 1,
                     call.type(0));
  return std::move(c.f).finish();
}

}  // namespace

extern const Operator kMicrosoftQLinearAdd{
    .name = "QLinearAdd",
    .doc = "c = quantised(a + b), of dequantised operands",
    .define = [](const Call& call) { return define_quantized(call, "Add", 2); },
    .domain = "com.microsoft",
    .least_inputs = 2,
    .most_inputs = 8,
};

extern const Operator kMicrosoftQLinearLeakyRelu{
    .name = "QLinearLeakyRelu",
    .doc = "y = quantised(x, or alpha · x where x < 0), of a dequantised x",
    .define = [](const Call& call) { return define_quantized(call, "LeakyRelu", 1, {"alpha"}); },
    .domain = "com.microsoft",
    .least_inputs = 2,
    .most_inputs = 5,
};

extern const Operator kMicrosoftQLinearMul{
    .name = "QLinearMul",
    .doc = "c = quantised(a · b), of dequantised operands",
    .define = [](const Call& call) { return define_quantized(call, "Mul", 2); },
    .domain = "com.microsoft",
    .least_inputs = 2,
    .most_inputs = 8,
};

extern const Operator kMicrosoftQLinearSigmoid{
    .name = "QLinearSigmoid",
    .doc = "y = quantised(1 / (1 + e^-x)), of a dequantised x",
    .define = [](const Call& call) { return define_quantized(call, "Sigmoid", 1); },
    .domain = "com.microsoft",
    .least_inputs = 2,
    .most_inputs = 5,
};

}  // namespace isomer::ops
