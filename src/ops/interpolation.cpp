#include "ops/interpolation.h"

namespace isomer {

Expr linear_weight(const Expr& y, const Index& u) {
  return apply(Fn::Relu, {1.0 - apply(Fn::Abs, {y - index_number(u, y.type())})});
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
