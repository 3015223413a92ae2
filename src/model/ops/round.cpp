#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kRound{
    .name = "Round",
    .doc = "y = the integer nearest to x, halves to the even one",
    .define = [](const Call& call) { return elementwise(call, Fn::Round, is_float); },
    .since = 11,
    .most_inputs = 1,
};

}  // namespace isomer::ops
