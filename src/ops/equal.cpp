#include "ops/define.h"

namespace isomer::ops {
namespace {

void sample_equal(Sampler& s) {
  using enum ElementType;
  if (s.opset() < 11) return sample_binary(s, {Bool, Int32, Int64}, Sampler::Values::Small);
  if (s.chance(0.2)) return sample_binary(s, {Bool});
  sample_binary(s, kNumbers, Sampler::Values::Small);
}

}  // namespace

extern const Operator kEqual{
    .name = "Equal",
    .doc = "y = whether a = b",
    .define = [](const Call& call) { return elementwise(call, Fn::Equal, is_computable); },
    .sample = sample_equal,
    .since = 7,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
