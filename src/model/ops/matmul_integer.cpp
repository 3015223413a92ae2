// MatMulInteger: y[..., m, n] = Σ_k (a[..., m, k] - a0) · (b[..., k, n] - b0) in int32. The zero points are
// scalars, or one per row of a, or one per column of b.
#include "model/ops/matmul.h"
#include "model/ops/shared/quantization.h"
#include "model/ops/shared/require_shape.h"

namespace isomer::ops {
namespace {

// The zero point of an operand (input k) where the operand is read; none if it is absent.
Expr zero_at(const Call& call, const FormulaBuilder& f, int k, const std::vector<Index>& at, bool per_row) {
  if (!call.has(k)) return {};
  const auto zero = f.input(k);
  if (product(zero.shape()).is(1)) return zero.at(std::vector<Index>(zero.shape().size()));
  Dims whole = call.shape(k - 2);
  const std::size_t reduced = whole.size() - (per_row ? 1 : 2), kept = whole.size() - (per_row ? 2 : 1);
  if (zero.rank() == 1) {
    require_shape(call, k, {whole[kept]});
    return zero(at[kept]);
  }
  // A zero point has the operand's rank, with extent 1 on the reduced axis.
  whole[reduced] = 1;
  require_shape(call, k, whole);
  auto place = at;
  place[place.size() - (per_row ? 1 : 2)] = 0;
  return zero.at(place);
}

Definition define_matmul_integer(const Call& call) {
  for (int k = 0; k < 2; ++k)
    if (!is_integer(call.type(k)) || bits(call.type(k)) != 8) return invalid("operands must be of 8 bits");
  if (call.rank(0) < 2 || call.rank(1) < 2)
    for (int k = 2; k < 4; ++k)
      if (call.has(k) && !product(call.shape(k)).is(1)) return opaque("zero points of vectors");
  auto f = call.formula();
  const auto a = f.input(0), b = f.input(1);
  const auto y = matrix_product(call, f, a.shape(), b.shape());
  const Expr left = centred(a.at(y.at_a), zero_at(call, f, 2, y.at_a, true), ElementType::Int32);
  const Expr right = centred(b.at(y.at_b), zero_at(call, f, 3, y.at_b, false), ElementType::Int32);
  f.output(y.p, sum({y.k}, left * right));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kMatMulInteger{
    .name = "MatMulInteger",
    .doc = "y = Σ (a[..., m, k] - a0) · (b[..., k, n] - b0) in int32",
    .define = define_matmul_integer,
    .since = 10,
    .least_inputs = 2,
    .most_inputs = 4,
};

}  // namespace isomer::ops
