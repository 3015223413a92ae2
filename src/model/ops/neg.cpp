#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kNeg{
    .name = "Neg",
    .doc = "y = -x",
    .define = [](const Call& call) { return elementwise(call, Fn::Neg, is_signed_number); },
    .most_inputs = 1,
};

}  // namespace isomer::ops
