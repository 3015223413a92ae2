#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kSqrt{
    .name = "Sqrt",
    .doc = "y = √x",
    .define = [](const Call& call) { return elementwise(call, Fn::Sqrt, is_float); },
    .most_inputs = 1,
};

}  // namespace isomer::ops
