// com.microsoft.QuickGelu: x / (1 + e^(-alpha · x)).
#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_quick_gelu(const Call& call) {
  const double alpha = finite_real(call, "alpha", 1.702F);
  return elementwise(
      call, [&](const std::vector<Expr>& x) { return x[0] * apply(Fn::Sigmoid, {x[0] * alpha}); }, is_float);
}

}  // namespace

extern const Operator kMicrosoftQuickGelu{
    .name = "QuickGelu",
    .doc = "y = x / (1 + e^(-alpha · x))",
    .define = define_quick_gelu,
    .domain = "com.microsoft",
    .most_inputs = 1,
};

}  // namespace isomer::ops
