#include "ops/define.h"

namespace isomer::ops {
namespace {

Definition define_swish(const Call& call) {
  const double alpha = finite_real(call, "alpha", 1.0f);
  return elementwise(
      call, [&](const std::vector<Expr>& x) { return x[0] * apply(Fn::Sigmoid, {x[0] * alpha}); }, is_float);
}

void sample_swish(Sampler& s) {
  sample_unary(s, {ElementType::Float});
  if (s.chance(0.6)) s.attribute("alpha", s.pick({0.5f, 1.702f, 2.0f}));
}

}  // namespace

extern const Operator kSwish{
    .name = "Swish",
    .doc = "y = x / (1 + e^(-alpha · x))",
    .define = define_swish,
    .sample = sample_swish,
    .since = 24,
    .most_inputs = 1,
    .runtime_note = "found there at opset 24 only",
};

}  // namespace isomer::ops
