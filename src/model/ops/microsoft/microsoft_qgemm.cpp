// com.microsoft.QGemm: alpha · sa · sb · (Σ (a - a0) · (b - b0) + c), a and b maybe transposed, c in int32;
// quantised, if the result has a scale, else float. sb and b0 are scalars, or one per column of the product.
#include "model/ops/shared/quantization.h"

namespace isomer::ops {
namespace {

Definition define_qgemm(const Call& call) {
  require_bytes(call, {0, 3});
  if (call.rank(0) != 2 || call.rank(3) != 2) return invalid("QGemm needs matrices");
  if (call.has(6) && call.type(6) != ElementType::Int32) return invalid("c must be int32");
  if (call.has(7) != call.has(8)) return opaque("a scale of the result without a zero point");
  const int columns = call.flag("transB", false) ? 0 : 1, inner = call.flag("transA", false) ? 0 : 1;
  const QuantizedOperand a{.x = 0, .scale = 1, .zero = 2};
  const QuantizedOperand b{.x = 3, .scale = 4, .zero = 5, .axis = columns};
  QuantizedComposition c(call);
  // Whole numbers that fit are real numbers; a float result has no digits beyond float's.
  const ElementType real = call.has(7) ? ElementType::Double : ElementType::Float;
  const bool fits = sums_fit(call, call.shape(0)[static_cast<std::size_t>(inner)], 6);
  const ElementType type = fits ? real : ElementType::Int32;
  std::optional<Composition::Tensor> added;
  if (call.has(6)) {
    const auto q = c.f.axes(call.shape(6));
    const Expr each = c.f.input(6).at(to_indices(q));
    added = c.f.stage(q, fits ? cast(cast(cast(each, ElementType::Int64), ElementType::Float), type) : each);
  }
  const auto sums =
      c.of("Gemm", {c.steps(a, type), c.steps(b, type), added}, c.attributes({"transA", "transB"}));
  const auto p = c.f.axes(sums.shape());
  std::vector<Index> at_b(2);
  at_b[static_cast<std::size_t>(columns)] = p[1];
  const Expr scale = cast(c.parameter(a, 1, {}), real) * cast(c.parameter(b, 4, at_b), real);
  const Expr y = cast(sums.at(to_indices(p)), real) * (number(real, finite_real(call, "alpha", 1)) * scale);
  if (call.has(7)) c.output_quantized(c.f.stage(p, y), 7, 8, call.type(0));
  else c.f.output(p, y);
  return std::move(c.f).finish();
}

}  // namespace

extern const Operator kMicrosoftQGemm{
    .name = "QGemm",
    .doc = "y = alpha · sa · sb · (Σ (a - a0) · (b - b0) + c), quantised if y has a scale",
    .define = define_qgemm,
    .domain = "com.microsoft",
    .least_inputs = 6,
    .most_inputs = 9,
};

}  // namespace isomer::ops
