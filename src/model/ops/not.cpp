#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kNot{
    .name = "Not",
    .doc = "y = not x",
    .define = [](const Call& call) { return elementwise(call, Fn::Not, is_bool); },
    .most_inputs = 1,
};

}  // namespace isomer::ops
