#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kIsNaN{
    .name = "IsNaN",
    .doc = "y = whether x is not a number",
    .define = [](const Call& call) { return elementwise(call, Fn::IsNaN, is_float); },
    .since = 9,
    .most_inputs = 1,
};

}  // namespace isomer::ops
