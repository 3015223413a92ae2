// CumSum: y[p] = Σ_{i <= p} x[i] along an axis; i >= p with reverse, without i = p if exclusive.
#include "model/ops/shared/cumulative.h"

namespace isomer::ops {

extern const Operator kCumSum{
    .name = "CumSum",
    .doc = "y[p] = Σ x[i] over i <= p along an axis",
    .define = [](const Call& call) { return define_cumulative(call, Reduction::Sum); },
    .since = 11,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
