#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kCosh{
    .name = "Cosh",
    .doc = "y = cosh x",
    .define = [](const Call& call) { return elementwise(call, Fn::Cosh, is_float); },
    .since = 9,
    .most_inputs = 1,
};

}  // namespace isomer::ops
