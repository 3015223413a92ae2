#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kBitwiseXor{
    .name = "BitwiseXor",
    .doc = "y = a exclusive or b, bit by bit",
    .define = [](const Call& call) { return elementwise(call, Fn::BitXor, is_integer); },
    .since = 18,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
