// CumProd: y[p] = Π_{i <= p} x[i] along an axis; i >= p with reverse, without i = p if exclusive.
#include "model/ops/shared/cumulative.h"

namespace isomer::ops {

extern const Operator kCumProd{
    .name = "CumProd",
    .doc = "y[p] = Π x[i] over i <= p along an axis",
    .define = [](const Call& call) { return define_cumulative(call, Reduction::Product); },
    .since = 26,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
