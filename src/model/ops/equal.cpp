#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kEqual{
    .name = "Equal",
    .doc = "y = whether a = b",
    .define = [](const Call& call) { return elementwise(call, Fn::Equal, is_computable); },
    .since = 7,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
