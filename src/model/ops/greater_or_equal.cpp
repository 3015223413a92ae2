#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_greater_or_equal(const Call& call) {
  return elementwise(call, [](const std::vector<Expr>& x) { return apply(Fn::LessOrEqual, {x[1], x[0]}); });
}

}  // namespace

extern const Operator kGreaterOrEqual{
    .name = "GreaterOrEqual",
    .doc = "y = whether a >= b",
    .define = define_greater_or_equal,
    .since = 12,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
