#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kTan{
    .name = "Tan",
    .doc = "y = tan x",
    .define = [](const Call& call) { return elementwise(call, Fn::Tan, is_float); },
    .since = 7,
    .most_inputs = 1,
};

}  // namespace isomer::ops
