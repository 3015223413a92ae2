#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_hard_sigmoid(const Call& call) {
  const double alpha = finite_real(call, "alpha", 0.2f);
  const double beta = finite_real(call, "beta", 0.5f);
  return elementwise(
      call,
      [&](const std::vector<Expr>& x) {
        return apply(Fn::Max,
                     {number(x[0].type(), 0), apply(Fn::Min, {number(x[0].type(), 1), x[0] * alpha + beta})});
      },
      is_float);
}

}  // namespace

extern const Operator kHardSigmoid{
    .name = "HardSigmoid",
    .doc = "y = max(0, min(1, alpha · x + beta))",
    .define = define_hard_sigmoid,
    .most_inputs = 1,
};

}  // namespace isomer::ops
