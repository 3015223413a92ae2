#include "ops/define.h"

namespace isomer::ops {

extern const Operator kIdentity{
    .name = "Identity",
    .doc = "y = x",
    .define = identity,
    .sample = [](Sampler& s) { sample_unary(s, kMovable, Sampler::Values::Special); },
    .most_inputs = 1,
};

}  // namespace isomer::ops
