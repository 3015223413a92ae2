#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kMul{
    .name = "Mul",
    .doc = "y = a · b",
    .define = [](const Call& call) { return elementwise(call, Fn::Mul); },
    .since = 7,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
