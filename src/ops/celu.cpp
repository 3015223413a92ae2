#include "ops/define.h"

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

void sample_celu(Sampler& s) {
  sample_unary(s, {ElementType::Float});
  if (s.chance(0.6)) s.attribute("alpha", s.pick({0.5f, 1.5f, 2.0f}));
}

}  // namespace

extern const Operator kCelu{
    .name = "Celu",
    .doc = "y = max(x, 0) + min(alpha · (e^(x/alpha) - 1), 0)",
    .define = define_celu,
    .sample = sample_celu,
    .since = 12,
    .most_inputs = 1,
};

}  // namespace isomer::ops
