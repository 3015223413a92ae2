#include "model/ops/shared/reduce.h"

namespace isomer::ops {
namespace {

constexpr Fold kFold{.each = [](const Expr& x) { return x * x; }};

}  // namespace

extern const Operator kReduceSumSquare{
    .name = "ReduceSumSquare",
    .doc = "y = Σ x² over the axes",
    .define = [](const Call& call) { return define_reduce(call, kFold); },
};

}  // namespace isomer::ops
