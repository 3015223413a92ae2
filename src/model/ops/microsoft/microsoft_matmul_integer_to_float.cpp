// com.microsoft.MatMulIntegerToFloat: sa · sb · Σ_k (a - a0) · (b - b0) + bias, the sum in int32.
// com.microsoft.DynamicQuantizeMatMul: the same for an a that DynamicQuantizeLinear quantises first. The
// scale and zero point of b are scalars, or one per column.
#include "model/ops/shared/quantization.h"

namespace isomer::ops {
namespace {

using Tensor = Composition::Tensor;

struct Factors {
  Tensor a, b, a_scale, b_scale;
  std::optional<Tensor> a_zero, b_zero, bias;
};

// A scale at a position of the product: one for all, or one per column.
Expr scale_at(const Call& call, const Tensor& scale, const std::vector<Axis>& p) {
  if (product(scale.shape()).is(1)) return scale.at(std::vector<Index>(scale.shape().size()));
  if (scale.rank() != 1 || p.empty()) throw OpaqueCall("a scale of another shape");
  if (!call.may_equal(scale.extent(0), p.back().extent)) throw IllegalCall("not one scale per column");
  return scale(p.back());
}

Definition scaled_product(const Call& call, Composition& c, const Factors& x) {
  if (x.a_zero && !product(x.a_zero->shape()).is(1)) return opaque("a zero point for each row");
  if (!product(x.a_scale.shape()).is(1)) return opaque("a scale for each row");
  const Tensor sums = c.of("MatMulInteger", {x.a, x.b, x.a_zero, x.b_zero});
  const auto p = c.f.axes(sums.shape());
  Expr y = cast(sums.at(to_indices(p)), x.a_scale.type()) *
           (scale_at(call, x.a_scale, p) * scale_at(call, x.b_scale, p));
  if (x.bias) {
    if (x.bias->rank() != 1 || p.empty() || !call.may_equal(x.bias->extent(0), p.back().extent))
      return invalid("the bias has not one value per column");
    y = y + (*x.bias)(p.back());
  }
  c.f.output(p, y);
  return std::move(c.f).finish();
}

Definition define_matmul_integer_to_float(const Call& call) {
  require_bytes(call, {0, 1});
  Composition c(call);
  return scaled_product(call, c,
                        {.a = c.f.input(0),
                         .b = c.f.input(1),
                         .a_scale = c.f.input(2),
                         .b_scale = c.f.input(3),
                         .a_zero = c.input(4),
                         .b_zero = c.input(5),
                         .bias = c.input(6)});
}

Definition define_dynamic_quantize_matmul(const Call& call) {
  require_bytes(call, {1});
  Composition c(call);
  const auto a = c.all_of("", "DynamicQuantizeLinear", {c.input(0)}, {}, 3);
  return scaled_product(call, c,
                        {.a = a[0],
                         .b = c.f.input(1),
                         .a_scale = a[1],
                         .b_scale = c.f.input(2),
                         .a_zero = a[2],
                         .b_zero = c.input(3),
                         .bias = c.input(4)});
}

}  // namespace

extern const Operator kMicrosoftDynamicQuantizeMatMul{
    .name = "DynamicQuantizeMatMul",
    .doc = "y = sa · sb · Σ (a - a0) · (b - b0) + bias, a as DynamicQuantizeLinear quantises it",
    .define = define_dynamic_quantize_matmul,
    .domain = "com.microsoft",
    .least_inputs = 3,
    .most_inputs = 5,
};

extern const Operator kMicrosoftMatMulIntegerToFloat{
    .name = "MatMulIntegerToFloat",
    .doc = "y = sa · sb · Σ (a - a0) · (b - b0) + bias, the sum in int32",
    .define = define_matmul_integer_to_float,
    .domain = "com.microsoft",
    .least_inputs = 4,
    .most_inputs = 7,
};

}  // namespace isomer::ops
