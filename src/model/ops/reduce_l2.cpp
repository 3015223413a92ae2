#include "model/ops/shared/reduce.h"

namespace isomer::ops {
namespace {

constexpr Fold kFold{
    .each = [](const Expr& x) { return x * x; },
    .finish = [](const Expr& total, const Expr&) { return apply(Fn::Sqrt, {total}); },
    .accepts = is_float,
};

}  // namespace

extern const Operator kReduceL2{
    .name = "ReduceL2",
    .doc = "y = sqrt(Σ x²) over the axes",
    .define = [](const Call& call) { return define_reduce(call, kFold); },
};

}  // namespace isomer::ops
