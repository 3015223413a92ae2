// Pow: x^y in the type of x. Squares and cubes by a known constant are products, as the runtime computes
// them. An integer base, or an exponent of another float type, is computed in double and converted back.
#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

std::optional<double> known_exponent(const Call& call) {
  const auto& constant = call.in(1).constant;
  if (!constant || constant->count() != 1) return std::nullopt;
  return constant->doubles()->front();
}

Definition define_pow(const Call& call) {
  const ElementType base = call.type(0), exponent = call.type(1);
  if (!is_number(base) || !is_number(exponent)) return invalid("Pow is not defined for these types");
  if (call.opset < 12 && base != exponent) return invalid("before opset 12 both inputs have one type");
  const auto known = known_exponent(call);
  return broadcasting(call, [&](const std::vector<Expr>& x) {
    if (known == 2) return x[0] * x[0];
    if (known == 3) return x[0] * x[0] * x[0];
    if (is_float(base) && (exponent == base || is_integer(exponent)))
      return apply(Fn::Pow, {x[0], cast(x[1], base)});
    return cast(apply(Fn::Pow, {cast(x[0], ElementType::Double), cast(x[1], ElementType::Double)}), base);
  });
}

}  // namespace

extern const Operator kPow{
    .name = "Pow",
    .doc = "y = a^b, in the type of a",
    .define = define_pow,
    .since = 7,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
