#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_mish(const Call& call) {
  return elementwise(
      call, [](const std::vector<Expr>& x) { return x[0] * apply(Fn::Tanh, {apply(Fn::Softplus, {x[0]})}); },
      is_float);
}

}  // namespace

extern const Operator kMish{
    .name = "Mish",
    .doc = "y = x · tanh(ln(1 + e^x))",
    .define = define_mish,
    .since = 18,
    .most_inputs = 1,
};

}  // namespace isomer::ops
