#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kRelu{
    .name = "Relu",
    .doc = "y = max(x, 0)",
    .define = [](const Call& call) { return elementwise(call, Fn::Relu, is_signed_number); },
    .most_inputs = 1,
};

}  // namespace isomer::ops
