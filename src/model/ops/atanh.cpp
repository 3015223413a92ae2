#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kAtanh{
    .name = "Atanh",
    .doc = "y = artanh x",
    .define = [](const Call& call) { return elementwise(call, Fn::Atanh, is_float); },
    .since = 9,
    .most_inputs = 1,
};

}  // namespace isomer::ops
