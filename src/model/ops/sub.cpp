#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kSub{
    .name = "Sub",
    .doc = "y = a - b",
    .define = [](const Call& call) { return elementwise(call, Fn::Sub); },
    .since = 7,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
