#include "ops/define.h"

namespace isomer::ops {

extern const Operator kTan{
    .name = "Tan",
    .doc = "y = tan x",
    .define = [](const Call& call) { return elementwise(call, Fn::Tan, is_float); },
    .sample = [](Sampler& s) { sample_unary(s, {ElementType::Float}, Sampler::Values::Unit); },
    .since = 7,
    .most_inputs = 1,
};

}  // namespace isomer::ops
