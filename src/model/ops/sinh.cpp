#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kSinh{
    .name = "Sinh",
    .doc = "y = sinh x",
    .define = [](const Call& call) { return elementwise(call, Fn::Sinh, is_float); },
    .since = 9,
    .most_inputs = 1,
};

}  // namespace isomer::ops
