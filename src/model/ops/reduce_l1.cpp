#include "model/ops/shared/reduce.h"

namespace isomer::ops {
namespace {

constexpr Fold kFold{.each = [](const Expr& x) { return apply(Fn::Abs, {x}); }};

}  // namespace

extern const Operator kReduceL1{
    .name = "ReduceL1",
    .doc = "y = Σ |x| over the axes",
    .define = [](const Call& call) { return define_reduce(call, kFold); },
};

}  // namespace isomer::ops
