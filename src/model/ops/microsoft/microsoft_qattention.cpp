// com.microsoft.QAttention: com.microsoft.Attention of a dequantised input and weight. The weight's scale and
// zero point are scalars, or one per column.
#include "model/ops/shared/quantization.h"

namespace isomer::ops {
namespace {

Definition define_qattention(const Call& call) {
  require_bytes(call, {0, 1});
  if (call.rank(0) != 3 || call.rank(1) != 2) return invalid("the input or weight is of another rank");
  if (call.has(8)) return opaque("a past");
  QuantizedComposition c(call);
  const auto x = c.dequantize({.x = 0, .scale = 3, .zero = 6}, ElementType::Float);
  const auto w = c.dequantize({.x = 1, .scale = 4, .zero = 7, .axis = 1}, ElementType::Float);
  const auto y = c.all_of("com.microsoft", "Attention", {x, w, c.input(2), c.input(5)},
                          c.attributes({"do_rotary", "mask_filter_value", "num_heads",
                                        "past_present_share_buffer", "scale", "unidirectional"}),
                          call.output_count);
  c.output(y[0]);
  return std::move(c.f).finish();
}

}  // namespace

extern const Operator kMicrosoftQAttention{
    .name = "QAttention",
    .doc = "y = Attention of a dequantised input and weight",
    .define = define_qattention,
    .domain = "com.microsoft",
    .least_inputs = 5,
    .most_inputs = 9,
};

}  // namespace isomer::ops
