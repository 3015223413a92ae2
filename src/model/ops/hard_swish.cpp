// The standard says 1/6, and defines the function by a HardSigmoid, whose alpha is a float.
#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_hard_swish(const Call& call) {
  return elementwise(
      call,
      [](const std::vector<Expr>& x) {
        return x[0] *
               apply(Fn::Max,
                     {number(x[0].type(), 0),
                      apply(Fn::Min, {number(x[0].type(), 1), x[0] * static_cast<double>(1.0F / 6) + 0.5})});
      },
      is_float);
}

}  // namespace

extern const Operator kHardSwish{
    .name = "HardSwish",
    .doc = "y = x · max(0, min(1, x/6 + 1/2))",
    .define = define_hard_swish,
    .since = 14,
    .most_inputs = 1,
};

}  // namespace isomer::ops
