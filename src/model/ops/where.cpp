#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_where(const Call& call) {
  if (call.type(0) != ElementType::Bool) return invalid("the condition is not of type bool");
  if (call.type(1) != call.type(2)) return invalid("the inputs have different types");
  return broadcasting(call, [](const std::vector<Expr>& x) { return where(x[0], x[1], x[2]); });
}

}  // namespace

extern const Operator kWhere{
    .name = "Where",
    .doc = "y = a where the condition holds, else b",
    .define = define_where,
    .since = 9,
    .least_inputs = 3,
    .most_inputs = 3,
};

}  // namespace isomer::ops
