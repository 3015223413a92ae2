#include "model/ops/shared/reduce.h"

namespace isomer::ops {
namespace {

constexpr Fold kFold{
    .finish = [](const Expr& total, const Expr& count) { return total / count; },
    .of_nothing = false,
};

}  // namespace

extern const Operator kReduceMean{
    .name = "ReduceMean",
    .doc = "y = Σ x / count over the axes; integers are truncated",
    .define = [](const Call& call) { return define_reduce(call, kFold); },
};

}  // namespace isomer::ops
