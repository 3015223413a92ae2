#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_celu(const Call& call) {
  const double alpha = finite_real(call, "alpha", 1.0f);
  return elementwise(
      call,
      [&](const std::vector<Expr>& x) {
        return apply(Fn::Relu, {x[0]}) +
               apply(Fn::Min, {(apply(Fn::Exp, {x[0] / alpha}) - 1) * alpha, number(x[0].type(), 0)});
      },
      is_float);
}

}  // namespace

extern const Operator kCelu{
    .name = "Celu",
    .doc = "y = max(x, 0) + min(alpha · (e^(x/alpha) - 1), 0)",
    .define = define_celu,
    .since = 12,
    .most_inputs = 1,
};

}  // namespace isomer::ops
