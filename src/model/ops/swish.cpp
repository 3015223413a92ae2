#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_swish(const Call& call) {
  const double alpha = finite_real(call, "alpha", 1.0f);
  return elementwise(
      call, [&](const std::vector<Expr>& x) { return x[0] * apply(Fn::Sigmoid, {x[0] * alpha}); }, is_float);
}

}  // namespace

extern const Operator kSwish{
    .name = "Swish",
    .doc = "y = x / (1 + e^(-alpha · x))",
    .define = define_swish,
    .since = 24,
    .most_inputs = 1,
};

}  // namespace isomer::ops
