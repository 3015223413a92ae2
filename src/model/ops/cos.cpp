#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kCos{
    .name = "Cos",
    .doc = "y = cos x",
    .define = [](const Call& call) { return elementwise(call, Fn::Cos, is_float); },
    .since = 7,
    .most_inputs = 1,
};

}  // namespace isomer::ops
