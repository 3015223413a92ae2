#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_reciprocal(const Call& call) {
  return elementwise(call, [](const std::vector<Expr>& x) { return 1.0 / x[0]; }, is_float);
}

}  // namespace

extern const Operator kReciprocal{
    .name = "Reciprocal",
    .doc = "y = 1 / x",
    .define = define_reciprocal,
    .most_inputs = 1,
};

}  // namespace isomer::ops
