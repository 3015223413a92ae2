#include "model/ops/shared/define.h"

namespace isomer::ops {

extern const Operator kFloor{
    .name = "Floor",
    .doc = "y = the largest integer <= x",
    .define = [](const Call& call) { return elementwise(call, Fn::Floor, is_float); },
    .most_inputs = 1,
};

}  // namespace isomer::ops
