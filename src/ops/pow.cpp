// Pow: x^y in the type of x. Squares and cubes by a known constant are products, as the runtime computes
// them. An integer base, or an exponent of another float type, is computed in double and converted back.
#include "ops/define.h"

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

void sample_pow(Sampler& s) {
  using enum ElementType;
  const ElementType base = s.opset() < 12 ? s.pick({Float, Double}) : s.pick({Float, Double, Int32, Int64});
  const ElementType exponent = s.opset() < 12 ? base : s.pick({Float, Double, Int32, Int64});
  const Extents a = s.shape(0, 4), b = s.broadcastable(a);
  s.input(base, a, Sampler::Values::Positive);
  // An integer base to a negative power is a fraction, whose conversion back is 0; that is legal, but not at
  // 0.
  if (s.chance(0.4))
    s.constant(exponent == Float    ? Tensor::of<float>(Float, {}, {s.pick({2.0f, 3.0f, 0.5f, 1.0f})})
               : exponent == Double ? Tensor::of<double>(Double, {1}, {s.pick({2.0, 3.0, -1.0})})
               : exponent == Int32  ? Tensor::of<std::int32_t>(Int32, {}, {s.pick({0, 2, 3, 4})})
                                    : Tensor::of<std::int64_t>(Int64, {1}, {s.between(0, 4)}));
  else s.input(exponent, b, Sampler::Values::Small);
}

}  // namespace

extern const Operator kPow{
    .name = "Pow",
    .doc = "y = a^b, in the type of a",
    .define = define_pow,
    .sample = sample_pow,
    .since = 7,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
