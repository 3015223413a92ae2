#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kAsin{
    .name = "Asin",
    .doc = "y = arcsin x",
    .define = [](const Call& call) { return elementwise(call, Fn::Asin, is_float); },
    .since = 7,
    .most_inputs = 1,
};

}  // namespace isomer::ops
