#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kCeil{
    .name = "Ceil",
    .doc = "y = the smallest integer >= x",
    .define = [](const Call& call) { return elementwise(call, Fn::Ceil, is_float); },
    .most_inputs = 1,
};

}  // namespace isomer::ops
