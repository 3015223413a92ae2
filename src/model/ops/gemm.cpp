// Gemm: y = alpha · a' b' + beta · c, where a' is a or its transpose, b' likewise, and c broadcasts to y.
#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

// scale · x; an integer has no fractions, so there the scale must be 1.
Expr scaled(const Expr& x, double scale) {
  if (scale == 1) return x;
  if (!is_float(x.type())) throw OpaqueCall("integers scaled by a float");
  return number(x.type(), scale) * x;
}

Definition define_gemm(const Call& call) {
  require_types(call, is_number);
  if (call.opset < 11 && !call.has(2)) return invalid("input 2 of Gemm is missing");
  if (call.rank(0) != 2 || call.rank(1) != 2) return invalid("Gemm needs matrices");
  auto f = call.formula();
  const auto a = f.input(0), b = f.input(1);
  const bool flip_a = call.flag("transA", false), flip_b = call.flag("transB", false);
  const Dim &inner = a.extent(flip_a ? 0 : 1), &other = b.extent(flip_b ? 1 : 0);
  if (!call.may_equal(inner, other)) return invalid("the inner extents differ");

  const auto p = f.axes({a.extent(flip_a ? 1 : 0), b.extent(flip_b ? 0 : 1)});
  const Axis k = f.axis(inner.is_concrete() ? inner : other);
  Expr y = sum({k}, (flip_a ? a(k, p[0]) : a(p[0], k)) * (flip_b ? b(p[1], k) : b(k, p[1])));
  y = scaled(y, finite_real(call, "alpha", 1));
  const double beta = finite_real(call, "beta", 1);
  if (call.has(2) && beta != 0) {
    const auto c = f.input(2);
    if (c.rank() > 2) return invalid("c has more than two dimensions");
    const Dims product{p[0].extent, p[1].extent};
    const auto shape = call.broadcast({product, c.shape()});
    if (!shape || *shape != product) {
      if (is_concrete(product) && is_concrete(c.shape()))
        return invalid("c does not broadcast to the product");
      return opaque("whether c broadcasts to the product is not known");
    }
    // For an empty product the runtime leaves c as it is.
    if (beta != 1) call.need(k.extent - Dim(1));
    y = y + scaled(broadcast(c, p), beta);
  }
  f.output(p, y);
  return std::move(f).finish();
}

}  // namespace

extern const Operator kGemm{
    .name = "Gemm",
    .doc = "y = alpha · a b + beta · c",
    .define = define_gemm,
    .least_inputs = 2,
    .most_inputs = 3,
};

}  // namespace isomer::ops
