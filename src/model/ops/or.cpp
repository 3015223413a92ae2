#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kOr{
    .name = "Or",
    .doc = "y = a or b",
    .define = [](const Call& call) { return elementwise(call, Fn::Or, is_bool); },
    .since = 7,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
