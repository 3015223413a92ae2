// Shrink: x + bias below -lambd, x - bias above lambd, else 0. Integers are computed in float and converted
// back.
#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_shrink(const Call& call) {
  const double bias = finite_real(call, "bias", 0.0f), lambd = finite_real(call, "lambd", 0.5f);
  return elementwise(call, [&](const std::vector<Expr>& in) {
    const ElementType type = in[0].type(), real = is_float(type) ? type : ElementType::Float;
    const Expr x = cast(in[0], real);
    const Expr inner = where(apply(Fn::Less, {number(real, lambd), x}), x - bias, number(real, 0));
    return cast(where(apply(Fn::Less, {x, number(real, -lambd)}), x + bias, inner), type);
  });
}

}  // namespace

extern const Operator kShrink{
    .name = "Shrink",
    .doc = "y = x + bias where x < -lambd, x - bias where x > lambd, else 0",
    .define = define_shrink,
    .since = 9,
    .most_inputs = 1,
};

}  // namespace isomer::ops
