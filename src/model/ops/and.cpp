#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kAnd{
    .name = "And",
    .doc = "y = a and b",
    .define = [](const Call& call) { return elementwise(call, Fn::And, is_bool); },
    .since = 7,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
