#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kExp{
    .name = "Exp",
    .doc = "y = e^x",
    .define = [](const Call& call) { return elementwise(call, Fn::Exp, is_float); },
    .most_inputs = 1,
};

}  // namespace isomer::ops
