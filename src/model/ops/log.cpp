#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kLog{
    .name = "Log",
    .doc = "y = ln x",
    .define = [](const Call& call) { return elementwise(call, Fn::Log, is_float); },
    .most_inputs = 1,
};

}  // namespace isomer::ops
