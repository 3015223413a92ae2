#include "model/ops/shared/reduce.h"

namespace isomer::ops {
namespace {

constexpr Fold kFold{.reduction = Reduction::Product};

}  // namespace

extern const Operator kReduceProd{
    .name = "ReduceProd",
    .doc = "y = Π x over the axes",
    .define = [](const Call& call) { return define_reduce(call, kFold); },
};

}  // namespace isomer::ops
