#include "ops/define.h"

namespace isomer::ops {

extern const Operator kBitwiseXor{
    .name = "BitwiseXor",
    .doc = "y = a exclusive or b, bit by bit",
    .define = [](const Call& call) { return elementwise(call, Fn::BitXor, is_integer); },
    .sample = [](Sampler& s) { sample_binary(s, kIntegers, Sampler::Values::Wide); },
    .since = 18,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
