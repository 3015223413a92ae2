#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kLessOrEqual{
    .name = "LessOrEqual",
    .doc = "y = whether a <= b",
    .define = [](const Call& call) { return elementwise(call, Fn::LessOrEqual); },
    .since = 12,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
