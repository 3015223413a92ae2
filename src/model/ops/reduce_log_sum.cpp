#include "model/ops/shared/reduce.h"

namespace isomer::ops {
namespace {

constexpr Fold kFold{
    .finish = [](const Expr& total, const Expr&) { return apply(Fn::Log, {total}); },
    .accepts = is_float,
};

}  // namespace

extern const Operator kReduceLogSum{
    .name = "ReduceLogSum",
    .doc = "y = log(Σ x) over the axes",
    .define = [](const Call& call) { return define_reduce(call, kFold); },
};

}  // namespace isomer::ops
