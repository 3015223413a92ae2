#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kIdentity{
    .name = "Identity",
    .doc = "y = x",
    .define = identity,
    .most_inputs = 1,
};

}  // namespace isomer::ops
