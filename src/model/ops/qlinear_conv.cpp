// QLinearConv: y = saturate(round(sx · sw · (b[o] + Σ (x - x0) · (w - w0)) / sy) + y0), the sum over Conv's
// window, in which what is padded adds nothing. sw and w0 are scalars, or one per output channel.
#include "model/ops/shared/quantization.h"

namespace isomer::ops {
namespace {

Definition define_qlinear_conv(const Call& call) {
  require_bytes(call, {0, 3});
  if (call.rank(3) < 3) return invalid("a weight of rank 3 or more is needed");
  const QuantizedOperand x{.x = 0, .scale = 1, .zero = 2}, w{.x = 3, .scale = 4, .zero = 5, .axis = 0};
  if (call.has(8) && (call.type(8) != ElementType::Int32 || call.rank(8) != 1 ||
                      !call.may_equal(call.shape(8)[0], call.shape(3)[0])))
    return invalid("the bias has not one int32 per output channel");
  QuantizedComposition c(call);
  const Attributes window =
      c.attributes({"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"});
  const Dims& weight = call.shape(3);
  const bool fits = sums_fit(call, product(Dims(weight.begin() + 1, weight.end())), 8);
  const auto sums = fits ? c.of("Conv", {c.steps(x), c.steps(w)}, window)
                         : c.of("ConvInteger", {c.input(0), c.input(3), c.input(2), c.input(5)}, window);
  const auto p = c.f.axes(sums.shape());
  Expr y = sums.at(to_indices(p));
  if (call.has(8)) {
    const Expr bias = c.f.input(8)(p[1]);
    y = y + (fits ? cast(cast(cast(bias, ElementType::Int64), ElementType::Float), y.type()) : bias);
  }
  const auto real = [](const Expr& e) { return cast(e, ElementType::Double); };
  const Expr scale = real(c.parameter(x, 1, {})) * real(c.parameter(w, 4, {Index(p[1])}));
  c.output_quantized(c.f.stage(p, real(y) * scale), 6, 7, call.type(0));
  return std::move(c.f).finish();
}

}  // namespace

extern const Operator kQLinearConv{
    .name = "QLinearConv",
    .doc = "y = saturate(round(sx · sw · (b + Σ (x - x0) · (w - w0)) / sy) + y0), the sum as Conv's",
    .define = define_qlinear_conv,
    .since = 10,
    .least_inputs = 8,
    .most_inputs = 9,
};

}  // namespace isomer::ops
