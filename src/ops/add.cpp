#include "ops/define.h"

namespace isomer::ops {

extern const Operator kAdd{
    .name = "Add",
    .doc = "y = a + b",
    .define = [](const Call& call) { return elementwise(call, Fn::Add); },
    .sample =
        [](Sampler& s) { sample_binary(s, s.opset() < 14 ? kWideNumbers : kNumbers, Sampler::Values::Wide); },
    .since = 7,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
