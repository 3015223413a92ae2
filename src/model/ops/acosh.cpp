#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kAcosh{
    .name = "Acosh",
    .doc = "y = arcosh x",
    .define = [](const Call& call) { return elementwise(call, Fn::Acosh, is_float); },
    .since = 9,
    .most_inputs = 1,
};

}  // namespace isomer::ops
