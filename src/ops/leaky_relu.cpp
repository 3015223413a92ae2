#include "ops/define.h"

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

void sample_leaky_relu(Sampler& s) {
  sample_unary(s, {ElementType::Float});
  if (s.chance(0.6)) s.attribute("alpha", s.pick({0.0f, 0.1f, 0.3f, -0.5f, 2.0f}));
}

}  // namespace

extern const Operator kLeakyRelu{
    .name = "LeakyRelu",
    .doc = "y = x, or alpha · x where x < 0",
    .define = define_leaky_relu,
    .sample = sample_leaky_relu,
    .most_inputs = 1,
};

}  // namespace isomer::ops
