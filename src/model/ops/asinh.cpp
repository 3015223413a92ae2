#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kAsinh{
    .name = "Asinh",
    .doc = "y = arsinh x",
    .define = [](const Call& call) { return elementwise(call, Fn::Asinh, is_float); },
    .since = 9,
    .most_inputs = 1,
};

}  // namespace isomer::ops
