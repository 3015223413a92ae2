#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_elu(const Call& call) {
  const double alpha = finite_real(call, "alpha", 1.0f);
  return elementwise(
      call,
      [&](const std::vector<Expr>& x) {
        return where(apply(Fn::Less, {x[0], number(x[0].type(), 0)}), (apply(Fn::Exp, {x[0]}) - 1) * alpha,
                     x[0]);
      },
      is_float);
}

}  // namespace

extern const Operator kElu{
    .name = "Elu",
    .doc = "y = x, or alpha · (e^x - 1) where x < 0",
    .define = define_elu,
    .most_inputs = 1,
};

}  // namespace isomer::ops
