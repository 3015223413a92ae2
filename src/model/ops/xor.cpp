#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kXor{
    .name = "Xor",
    .doc = "y = a or b, not both",
    .define = [](const Call& call) { return elementwise(call, Fn::Xor, is_bool); },
    .since = 7,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
