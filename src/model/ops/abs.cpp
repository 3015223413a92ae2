#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kAbs{
    .name = "Abs",
    .doc = "y = |x|",
    .define = [](const Call& call) { return elementwise(call, Fn::Abs); },
    .most_inputs = 1,
};

}  // namespace isomer::ops
