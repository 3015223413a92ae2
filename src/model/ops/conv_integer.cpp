// ConvInteger: y[n,o,p] = Σ (x[...] - x0) · (w[o,c,k] - w0) in int32, over the same window as Conv's; what is
// padded is x0, and adds nothing. w0 is a scalar, or one per output channel.
#include "model/ops/conv.h"
#include "model/ops/shared/quantization.h"

namespace isomer::ops {
namespace {

Definition define_conv_integer(const Call& call) {
  for (int k = 0; k < 2; ++k)
    if (!is_integer(call.type(k)) || bits(call.type(k)) != 8) return invalid("operands must be of 8 bits");
  auto f = call.formula();
  const auto x = f.input(0), w = f.input(1);
  const auto r = f.axes(x.shape());
  const Expr x_zero = call.has(2) ? scalar(call, f, 2) : Expr();
  const auto steps = f.stage(r, centred(x.at(to_indices(r)), x_zero, ElementType::Int32));
  const auto at = read_convolution(call, f, x.shape(), w.shape());
  Expr w_zero;
  if (call.has(3)) {
    const auto zero = f.input(3);
    if (zero.rank() > 1) return invalid("a zero point of the weight must be a scalar or a vector");
    w_zero = product(zero.shape()).is(1) ? scalar(call, f, 3) : zero(at.p[1]);
  }
  const Expr weight = centred(w.at(at.at_w), w_zero, ElementType::Int32);
  f.output(at.p, sum(at.reduced, steps.at(at.at_x) * weight));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kConvInteger{
    .name = "ConvInteger",
    .doc = "y = Σ (x[n, g·C + c, stride·p + dilation·k - pad] - x0) · (w[o,c,k] - w0) in int32",
    .define = define_conv_integer,
    .since = 10,
    .least_inputs = 2,
    .most_inputs = 4,
};

}  // namespace isomer::ops
