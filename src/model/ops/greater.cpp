#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_greater(const Call& call) {
  return elementwise(call, [](const std::vector<Expr>& x) { return apply(Fn::Less, {x[1], x[0]}); });
}

}  // namespace

extern const Operator kGreater{
    .name = "Greater",
    .doc = "y = whether a > b",
    .define = define_greater,
    .since = 7,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
