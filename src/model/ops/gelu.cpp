// Gelu: x/2 · (1 + erf(x/√2)), or its approximation by tanh.
#include "model/ops/gelu.h"

#include <numbers>

namespace isomer {

Expr gelu(const Expr& x) { return x * 0.5 * (apply(Fn::Erf, {x * (std::numbers::sqrt2 / 2)}) + 1); }

Expr tanh_gelu(const Expr& x) {
  const Expr inner = (x + x * x * x * 0.044715) * (std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
  return x * 0.5 * (apply(Fn::Tanh, {inner}) + 1);
}

namespace ops {
namespace {

Definition define_gelu(const Call& call) {
  const std::string approximate = call.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    return invalid("approximate must be none or tanh", "approximate");
  return elementwise(
      call, [&](const std::vector<Expr>& x) { return approximate == "none" ? gelu(x[0]) : tanh_gelu(x[0]); },
      is_float);
}

}  // namespace

extern const Operator kGelu{
    .name = "Gelu",
    .doc = "y = x/2 · (1 + erf(x/√2)), or its approximation x/2 · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))",
    .define = define_gelu,
    .since = 20,
    .most_inputs = 1,
};

}  // namespace ops
}  // namespace isomer
