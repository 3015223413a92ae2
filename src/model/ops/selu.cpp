#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_selu(const Call& call) {
  const double alpha = finite_real(call, "alpha", 1.67326319217681884765625f);
  const double gamma = finite_real(call, "gamma", 1.05070102214813232421875f);
  return elementwise(
      call,
      [&](const std::vector<Expr>& x) {
        return where(apply(Fn::Less, {number(x[0].type(), 0), x[0]}), x[0],
                     (apply(Fn::Exp, {x[0]}) - 1) * alpha) *
               gamma;
      },
      is_float);
}

}  // namespace

extern const Operator kSelu{
    .name = "Selu",
    .doc = "y = gamma · x, or gamma · alpha · (e^x - 1) where x <= 0",
    .define = define_selu,
    .most_inputs = 1,
};

}  // namespace isomer::ops
