#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kSin{
    .name = "Sin",
    .doc = "y = sin x",
    .define = [](const Call& call) { return elementwise(call, Fn::Sin, is_float); },
    .since = 7,
    .most_inputs = 1,
};

}  // namespace isomer::ops
