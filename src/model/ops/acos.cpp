#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kAcos{
    .name = "Acos",
    .doc = "y = arccos x",
    .define = [](const Call& call) { return elementwise(call, Fn::Acos, is_float); },
    .since = 7,
    .most_inputs = 1,
};

}  // namespace isomer::ops
