#include "model/ops/shared/reduce.h"

namespace isomer::ops {
namespace {

constexpr Fold kFold{.reduction = Reduction::Max, .accepts = is_computable, .of_nothing = false};

}  // namespace

extern const Operator kReduceMax{
    .name = "ReduceMax",
    .doc = "y = max x over the axes",
    .define = [](const Call& call) { return define_reduce(call, kFold); },
};

}  // namespace isomer::ops
