#include "model/ops/shared/reduce.h"

namespace isomer::ops {
namespace {

constexpr Fold kFold{.reduction = Reduction::Min, .accepts = is_computable, .of_nothing = false};

}  // namespace

extern const Operator kReduceMin{
    .name = "ReduceMin",
    .doc = "y = min x over the axes",
    .define = [](const Call& call) { return define_reduce(call, kFold); },
};

}  // namespace isomer::ops
