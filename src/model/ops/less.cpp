#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kLess{
    .name = "Less",
    .doc = "y = whether a < b",
    .define = [](const Call& call) { return elementwise(call, Fn::Less); },
    .since = 7,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
