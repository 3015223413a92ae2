// com.microsoft.QuickGelu: x / (1 + e^(-alpha · x)).
#include "ops/define.h"

namespace isomer::ops {
namespace {

Definition define_quick_gelu(const Call& call) {
  const double alpha = finite_real(call, "alpha", 1.702F);
  return elementwise(
      call, [&](const std::vector<Expr>& x) { return x[0] * apply(Fn::Sigmoid, {x[0] * alpha}); }, is_float);
}

void sample_quick_gelu(Sampler& s) {
  sample_unary(s, {ElementType::Float});
  if (s.chance(0.5)) s.attribute("alpha", s.pick({0.5F, 1.0F}));
}

}  // namespace

extern const Operator kMicrosoftQuickGelu{
    .name = "QuickGelu",
    .doc = "y = x / (1 + e^(-alpha · x))",
    .define = define_quick_gelu,
    .sample = sample_quick_gelu,
    .domain = "com.microsoft",
    .most_inputs = 1,
};

}  // namespace isomer::ops
