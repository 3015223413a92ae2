// com.microsoft.FusedMatMul: alpha · a' b', where a' is a with its last two axes exchanged (transA), or its
// first and second to last ones (transBatchA: not modelled); b' likewise.
#include "model/ops/matmul.h"

namespace isomer::ops {
namespace {

Dims flipped(Dims shape, bool flip) {
  if (flip && shape.size() > 1) std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return shape;
}

std::vector<Index> flipped(std::vector<Index> at, bool flip) {
  if (flip && at.size() > 1) std::swap(at[at.size() - 1], at[at.size() - 2]);
  return at;
}

Definition define_fused_matmul(const Call& call) {
  require_types(call, is_float);
  if (call.flag("transBatchA", false) || call.flag("transBatchB", false))
    return opaque("a batch axis that is moved");
  const bool flip_a = call.flag("transA", false), flip_b = call.flag("transB", false);
  if ((flip_a || flip_b) && (call.rank(0) < 2 || call.rank(1) < 2)) return opaque("a transposed vector");
  auto f = call.formula();
  const auto a = f.input(0), b = f.input(1);
  const auto y = matrix_product(call, f, flipped(a.shape(), flip_a), flipped(b.shape(), flip_b));
  const Expr product = sum({y.k}, a.at(flipped(y.at_a, flip_a)) * b.at(flipped(y.at_b, flip_b)));
  const double alpha = finite_real(call, "alpha", 1);
  f.output(y.p, alpha == 1 ? product : number(a.type(), alpha) * product);
  return std::move(f).finish();
}

}  // namespace

extern const Operator kMicrosoftFusedMatMul{
    .name = "FusedMatMul",
    .doc = "y = alpha · a b, either of them transposed",
    .define = define_fused_matmul,
    .domain = "com.microsoft",
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
