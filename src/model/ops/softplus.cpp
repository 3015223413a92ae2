#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kSoftplus{
    .name = "Softplus",
    .doc = "y = ln(1 + e^x)",
    .define = [](const Call& call) { return elementwise(call, Fn::Softplus, is_float); },
    .most_inputs = 1,
};

}  // namespace isomer::ops
