#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_leaky_relu(const Call& call) {
  const double alpha = finite_real(call, "alpha", 0.01f);
  return elementwise(
      call,
      [&](const std::vector<Expr>& x) {
        return where(apply(Fn::Less, {x[0], number(x[0].type(), 0)}), x[0] * alpha, x[0]);
      },
      is_float);
}

}  // namespace

extern const Operator kLeakyRelu{
    .name = "LeakyRelu",
    .doc = "y = x, or alpha · x where x < 0",
    .define = define_leaky_relu,
    .most_inputs = 1,
};

}  // namespace isomer::ops
