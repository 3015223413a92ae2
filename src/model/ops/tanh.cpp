#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kTanh{
    .name = "Tanh",
    .doc = "y = tanh x",
    .define = [](const Call& call) { return elementwise(call, Fn::Tanh, is_float); },
    .most_inputs = 1,
};

}  // namespace isomer::ops
