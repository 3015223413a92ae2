#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_softsign(const Call& call) {
  return elementwise(
      call, [](const std::vector<Expr>& x) { return x[0] / (apply(Fn::Abs, {x[0]}) + 1); }, is_float);
}

}  // namespace

extern const Operator kSoftsign{
    .name = "Softsign",
    .doc = "y = x / (1 + |x|)",
    .define = define_softsign,
    .most_inputs = 1,
};

}  // namespace isomer::ops
