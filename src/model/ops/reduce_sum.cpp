#include "model/ops/shared/reduce.h"

namespace isomer::ops {
namespace {

constexpr Fold kFold{.axes_input_since = 13};

}  // namespace

extern const Operator kReduceSum{
    .name = "ReduceSum",
    .doc = "y = Σ x over the axes",
    .define = [](const Call& call) { return define_reduce(call, kFold); },
};

}  // namespace isomer::ops
