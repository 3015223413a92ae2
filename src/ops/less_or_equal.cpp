#include "ops/define.h"

namespace isomer::ops {

extern const Operator kLessOrEqual{
    .name = "LessOrEqual",
    .doc = "y = whether a <= b",
    .define = [](const Call& call) { return elementwise(call, Fn::LessOrEqual); },
    .sample = [](Sampler& s) { sample_binary(s, kNumbers, Sampler::Values::Small); },
    .since = 12,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
