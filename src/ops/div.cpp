#include "ops/define.h"

namespace isomer::ops {

extern const Operator kDiv{
    .name = "Div",
    .doc = "y = a / b; of integers rounded towards zero",
    .define = [](const Call& call) { return elementwise(call, Fn::Div); },
    .since = 7,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
