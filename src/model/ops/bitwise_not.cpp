#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kBitwiseNot{
    .name = "BitwiseNot",
    .doc = "y = the complement of x, bit by bit",
    .define = [](const Call& call) { return elementwise(call, Fn::BitNot, is_integer); },
    .since = 18,
    .most_inputs = 1,
};

}  // namespace isomer::ops
