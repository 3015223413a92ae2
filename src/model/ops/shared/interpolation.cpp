#include "model/ops/shared/interpolation.h"

namespace isomer {

Expr linear_weight(const Expr& y, const Index& u) {
  return apply(Fn::Relu, {1.0 - apply(Fn::Abs, {y - index_number(u, y.type())})});
}

Expr cubic_weight(const Expr& y, const Index& u) {
  constexpr double a = -0.75;
  const Expr t = apply(Fn::Abs, {y - index_number(u, y.type())}), zero = number(y.type(), 0);
  const Expr near = (t * (a + 2) - (a + 3)) * t * t + 1, far = ((t * a - 5 * a) * t + 8 * a) * t - 4 * a;
  const auto up_to = [&](double most) { return apply(Fn::LessOrEqual, {t, number(y.type(), most)}); };
  return where(up_to(1), near, where(up_to(2), far, zero));
}

Expr exact_weight(const Expr& y, const Index& u) {
  return where(apply(Fn::Equal, {y, index_number(u, y.type())}), number(y.type(), 1), number(y.type(), 0));
}

Expr clamped(const Expr& value, const Expr& low, const Expr& high) {
  return apply(Fn::Min, {apply(Fn::Max, {value, low}), high});
}

Expr is_between(const Expr& low, const Expr& value, const Expr& high) {
  const Expr zero = number(value.type(), 0), one = number(value.type(), 1);
  const Expr below = where(apply(Fn::LessOrEqual, {value, high}), one, zero);
  return where(apply(Fn::LessOrEqual, {low, value}), below, zero);
}

}  // namespace isomer
