#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_thresholded_relu(const Call& call) {
  const double alpha = finite_real(call, "alpha", 1.0f);
  return elementwise(
      call,
      [&](const std::vector<Expr>& x) {
        return where(apply(Fn::Less, {number(x[0].type(), alpha), x[0]}), x[0], number(x[0].type(), 0));
      },
      is_float);
}

}  // namespace

extern const Operator kThresholdedRelu{
    .name = "ThresholdedRelu",
    .doc = "y = x where x > alpha, else 0",
    .define = define_thresholded_relu,
    .since = 10,
    .most_inputs = 1,
};

}  // namespace isomer::ops
