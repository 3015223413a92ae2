#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kBitwiseAnd{
    .name = "BitwiseAnd",
    .doc = "y = a and b, bit by bit",
    .define = [](const Call& call) { return elementwise(call, Fn::BitAnd, is_integer); },
    .since = 18,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
