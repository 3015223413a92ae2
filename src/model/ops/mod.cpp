// Mod: what is left of a / b, with the sign of b, or with that of a if fmod = 1 (the only form for floats
// before opset 28).
#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_mod(const Call& call) {
  const bool fmod = call.flag("fmod", false);
  need_divisor(call);
  if (!fmod && is_float(call.type(0))) {
    if (call.opset < 28) return invalid("Mod of floats needs fmod = 1", "fmod");
    return elementwise(call, [](const std::vector<Expr>& x) {
      const Expr zero = number(x[0].type(), 0), rest = apply(Fn::Mod, {x[0], x[1]});
      const Expr signed_zero = where(apply(Fn::Less, {x[1], zero}), number(x[0].type(), -0.0), zero);
      return where(apply(Fn::Equal, {rest, zero}), signed_zero, rest);
    });
  }
  return elementwise(call, fmod ? Fn::Fmod : Fn::Mod);
}

}  // namespace

extern const Operator kMod{
    .name = "Mod",
    .doc = "y = a - b · floor(a / b), or, if fmod = 1, rounded towards zero",
    .define = define_mod,
    .since = 10,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
