// com.microsoft.QLinearAveragePool and QLinearGlobalAveragePool: x dequantised, its averages, quantised.
#include "model/ops/shared/quantization.h"

namespace isomer::ops {
namespace {

Definition define_quantized_pool(const Call& call, std::string_view op,
                                 std::initializer_list<std::string_view> attributes) {
  require_bytes(call, {0});
  if (call.flag("channels_last", false)) return opaque("channels in the last axis");
  QuantizedComposition c(call);
  c.output_quantized(c.of(op, {c.dequantize({})}, c.attributes(attributes)), 3, 4, call.type(0));
  return std::move(c.f).finish();
}

}  // namespace

extern const Operator kMicrosoftQLinearAveragePool{
    .name = "QLinearAveragePool",
    .doc = "y = quantised(Σ x[n, c, stride·p + k - pad] / count of taps), of a dequantised x",
    .define =
        [](const Call& call) {
          return define_quantized_pool(
              call, "AveragePool",
              {"auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides"});
        },
    .domain = "com.microsoft",
    .least_inputs = 2,
    .most_inputs = 5,
};

extern const Operator kMicrosoftQLinearGlobalAveragePool{
    .name = "QLinearGlobalAveragePool",
    .doc = "y = quantised(Σ x[n,c,...] / count over all spatial dimensions), of a dequantised x",
    .define = [](const Call& call) { return define_quantized_pool(call, "GlobalAveragePool", {}); },
    .domain = "com.microsoft",
    .least_inputs = 5,
    .most_inputs = 5,
};

}  // namespace isomer::ops
