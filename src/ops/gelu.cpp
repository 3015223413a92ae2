#include <numbers>

#include "ops/define.h"

namespace isomer::ops {
namespace {

Definition define_gelu(const Call& call) {
  using namespace std::numbers;
  const std::string approximate = call.text("approximate", "none");
  if (approximate == "none")
    return elementwise(
        call,
        [](const std::vector<Expr>& x) { return x[0] * 0.5 * (apply(Fn::Erf, {x[0] * (sqrt2 / 2)}) + 1); },
        is_float);
  if (approximate == "tanh")
    return elementwise(
        call,
        [](const std::vector<Expr>& x) {
          const Expr inner = (x[0] + x[0] * x[0] * x[0] * 0.044715) * (sqrt2 * inv_sqrtpi);
          return x[0] * 0.5 * (apply(Fn::Tanh, {inner}) + 1);
        },
        is_float);
  return invalid("approximate must be none or tanh", "approximate");
}

void sample_gelu(Sampler& s) {
  sample_unary(s, {ElementType::Float});
  if (s.chance(0.7)) s.attribute("approximate", std::string(s.chance(0.5) ? "tanh" : "none"));
}

}  // namespace

extern const Operator kGelu{
    .name = "Gelu",
    .doc = "y = x/2 · (1 + erf(x/√2)), or its approximation x/2 · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))",
    .define = define_gelu,
    .sample = sample_gelu,
    .since = 20,
    .most_inputs = 1,
};

}  // namespace isomer::ops
