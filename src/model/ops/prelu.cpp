// PRelu: x, or slope · x where x < 0. The slope broadcasts to x, not the other way.
#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_prelu(const Call& call) {
  const auto shape = call.broadcast({call.shape(0), call.shape(1)});
  if (!shape || *shape != call.shape(0)) return opaque("the slope does not broadcast to the input's shape");
  return elementwise(call, [](const std::vector<Expr>& x) {
    return where(apply(Fn::Less, {x[0], integer(x[0].type(), 0)}), x[1] * x[0], x[0]);
  });
}

}  // namespace

extern const Operator kPRelu{
    .name = "PRelu",
    .doc = "y = x, or slope · x where x < 0",
    .define = define_prelu,
    .since = 7,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
