// QLinearMatMul: y = saturate(round(sa · sb · Σ_k (a - a0) · (b - b0) / sy) + y0), the sum as MatMul's. The
// scales and zero points are scalars, or one per row of a, or one per column of b.
#include "model/ops/shared/quantization.h"

namespace isomer::ops {
namespace {

Definition define_qlinear_matmul(const Call& call) {
  require_bytes(call, {0, 3});
  if (call.rank(0) < 1 || call.rank(3) < 1) return invalid("a matrix product needs operands of rank >= 1");
  // Vectors have one scale for all.
  const bool has_matrices = call.rank(0) > 1 && call.rank(3) > 1;
  const auto along = [&](int axis) { return has_matrices ? std::optional(axis) : std::nullopt; };
  const QuantizedOperand a{.x = 0, .scale = 1, .zero = 2, .axis = along(call.rank(0) - 2)};
  const QuantizedOperand b{.x = 3, .scale = 4, .zero = 5, .axis = along(call.rank(3) - 1)};
  QuantizedComposition c(call);
  const bool fits = sums_fit(call, call.shape(0).back(), -1);
  const auto sums = fits ? c.of("MatMul", {c.steps(a), c.steps(b)})
                         : c.of("MatMulInteger", {c.input(0), c.input(3), c.input(2), c.input(5)});
  const auto p = c.f.axes(sums.shape());
  std::vector<Index> at_a(call.shape(0).size()), at_b(call.shape(3).size());
  if (has_matrices) at_a[at_a.size() - 2] = p[p.size() - 2], at_b.back() = p.back();
  const auto real = [](const Expr& e) { return cast(e, ElementType::Double); };
  const Expr scale = real(c.parameter(a, 1, at_a)) * real(c.parameter(b, 4, at_b));
  c.output_quantized(c.f.stage(p, real(sums.at(to_indices(p))) * scale), 6, 7, call.type(0));
  return std::move(c.f).finish();
}

}  // namespace

extern const Operator kQLinearMatMul{
    .name = "QLinearMatMul",
    .doc = "y = saturate(round(sa · sb · Σ (a - a0) · (b - b0) / sy) + y0)",
    .define = define_qlinear_matmul,
    .since = 10,
    .least_inputs = 8,
    .most_inputs = 8,
};

}  // namespace isomer::ops
