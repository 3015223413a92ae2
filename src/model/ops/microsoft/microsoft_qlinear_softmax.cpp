// com.microsoft.QLinearSoftmax: the softmax of a dequantised x, quantised. Since opset 13 along one axis,
// before that along all from it on. ONNX Runtime divides whole numbers of 32 bits, which overflow where the
// softmax has one element, or where 1 is more than 256 steps, and takes the steps of 1 for a whole number:
// only scales that are powers of two from 1/256 on, and axes of two elements or more, are modelled.
#include <cmath>

#include "model/ops/shared/quantization.h"

namespace isomer::ops {
namespace {

Definition define_qlinear_softmax(const Call& call) {
  require_bytes(call, {0});
  const std::int64_t opset = call.integer("opset", 0);
  if (opset < 1) return invalid("the version of Softmax is missing", "opset");
  const auto& scale = call.in(3).constant;
  const auto steps = scale ? scale->doubles() : std::nullopt;
  int exponent = 0;
  if (!steps || steps->size() != 1 || std::frexp((*steps)[0], &exponent) != 0.5 || exponent < -7)
    return opaque("a result whose scale is not known to be a power of two from 1/256 on");
  QuantizedComposition c(call);
  Composition::Tensor x = c.dequantize({});
  if (opset >= 13) {
    x = c.of("Softmax", {x}, c.attributes({"axis"}));
  } else {
    // Flattened at the axis, which is 1 if it is not said.
    const auto axis = normalize_axis(call.integer("axis", 1), x.rank());
    if (!axis) return invalid("axis is outside of the input's rank", "axis");
    if (*axis != x.rank() - 1) return opaque("a softmax over several axes");
    x = c.of("Softmax", {x});
  }
  const auto along = normalize_axis(call.integer("axis", opset >= 13 ? -1 : 1), x.rank());
  if (!along || x.extent(*along).at_least(2) != true) return opaque("a softmax of one element");
  c.output_quantized(x, 3, 4, call.type(0));
  return std::move(c.f).finish();
}

}  // namespace

extern const Operator kMicrosoftQLinearSoftmax{
    .name = "QLinearSoftmax",
    .doc = "y = quantised(exp(x - max x) / Σ exp(x - max x) along an axis), of a dequantised x",
    .define = define_qlinear_softmax,
    .domain = "com.microsoft",
    .least_inputs = 5,
    .most_inputs = 5,
};

}  // namespace isomer::ops
