#include "model/ops/shared/arg_extremum.h"

namespace isomer::ops {

extern const Operator kArgMin{
    .name = "ArgMin",
    .doc = "y = the first (or last) place of the smallest element along an axis",
    .define = [](const Call& call) { return define_arg_extremum(call, Reduction::Min); },
    .most_inputs = 1,
};

}  // namespace isomer::ops
