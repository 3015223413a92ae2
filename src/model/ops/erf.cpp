#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kErf{
    .name = "Erf",
    .doc = "y = the error function of x",
    .define = [](const Call& call) { return elementwise(call, Fn::Erf, is_float); },
    .since = 9,
    .most_inputs = 1,
};

}  // namespace isomer::ops
