#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kSign{
    .name = "Sign",
    .doc = "y = -1, 0 or 1, as x is negative, zero or positive",
    .define = [](const Call& call) { return elementwise(call, Fn::Sign); },
    .since = 9,
    .most_inputs = 1,
};

}  // namespace isomer::ops
