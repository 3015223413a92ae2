#include "model/ops/shared/arg_extremum.h"

namespace isomer::ops {

extern const Operator kArgMax{
    .name = "ArgMax",
    .doc = "y = the first (or last) place of the largest element along an axis",
    .define = [](const Call& call) { return define_arg_extremum(call, Reduction::Max); },
    .most_inputs = 1,
};

}  // namespace isomer::ops
