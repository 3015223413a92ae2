// com.microsoft.BiasGelu: z/2 · (1 + erf(z/√2)), z = x + a bias along the last axis.
#include "model/ops/gelu.h"

namespace isomer::ops {
namespace {

Definition define_bias_gelu(const Call& call) {
  require_types(call, is_float);
  if (call.has(1) &&
      (call.rank(1) != 1 || call.rank(0) < 1 || !call.may_equal(call.shape(1)[0], call.shape(0).back())))
    return invalid("the bias has not one value per element of the last axis");
  return elementwise(
      call, [](const std::vector<Expr>& x) { return gelu(x.size() > 1 ? x[0] + x[1] : x[0]); }, is_float);
}

}  // namespace

extern const Operator kMicrosoftBiasGelu{
    .name = "BiasGelu",
    .doc = "y = z/2 · (1 + erf(z/√2)), z = x + bias",
    .define = define_bias_gelu,
    .domain = "com.microsoft",
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
