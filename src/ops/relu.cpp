#include "ops/define.h"

namespace isomer::ops {
namespace {

void sample_relu(Sampler& s) {
  using enum ElementType;
  if (s.opset() < 14) return sample_unary(s, kFloats);
  sample_unary(s, {Float, Double, Int32, Int8});
}

}  // namespace

extern const Operator kRelu{
    .name = "Relu",
    .doc = "y = max(x, 0)",
    .define = [](const Call& call) { return elementwise(call, Fn::Relu, is_signed_number); },
    .sample = sample_relu,
    .most_inputs = 1,
};

}  // namespace isomer::ops
