#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kAtan{
    .name = "Atan",
    .doc = "y = arctan x",
    .define = [](const Call& call) { return elementwise(call, Fn::Atan, is_float); },
    .since = 7,
    .most_inputs = 1,
};

}  // namespace isomer::ops
