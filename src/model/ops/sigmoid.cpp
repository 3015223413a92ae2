#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kSigmoid{
    .name = "Sigmoid",
    .doc = "y = 1 / (1 + e^-x)",
    .define = [](const Call& call) { return elementwise(call, Fn::Sigmoid, is_float); },
    .most_inputs = 1,
};

}  // namespace isomer::ops
