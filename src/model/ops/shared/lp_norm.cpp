#include "model/ops/shared/lp_norm.h"

namespace isomer {

std::int64_t read_norm(const Call& call) {
  const std::int64_t p = call.integer("p", 2);
  if (p < 1) throw OpaqueCall("a norm with p below 1");
  return p;
}

Expr norm_term(const Expr& x, std::int64_t p) {
  if (p == 1) return apply(Fn::Abs, {x});
  if (p == 2) return x * x;
  return apply(Fn::Pow, {apply(Fn::Abs, {x}), integer(x.type(), p)});
}

Expr norm_root(const Expr& sum, std::int64_t p) {
  if (p == 1) return sum;
  if (p == 2) return apply(Fn::Sqrt, {sum});
  return apply(Fn::Pow, {sum, 1.0 / integer(sum.type(), p)});
}

}  // namespace isomer
