// Conv in 1 to 3 dimensions:  y[n,o,p] = b[o] + Σ_{c,k} x[n, g·C + c, stride·p + dilation·k - pad] · w[o, c,
// k], C = channels per group, g = floor(o / outputs per group); x is zero outside.
#include "model/ops/conv.h"

namespace isomer {

ConvolutionAxes read_convolution(const Call& call, FormulaBuilder& f, const Dims& x, const Dims& w) {
  const std::size_t d = x.size() - 2;
  if (x.size() < 3 || w.size() != x.size())
    throw IllegalCall("a convolution needs an input and a weight of equal rank >= 3");
  if (d > 3) throw OpaqueCall("more than 3 spatial dimensions");
  const Window window = read_window(call, spatial_extents(x), spatial_extents(w));

  const std::int64_t groups = call.integer("group", 1);
  if (groups < 1) throw IllegalCall("group must be at least 1", "group");
  if (!call.may_equal(x[1], Dim(groups) * w[1]))
    throw IllegalCall("input channels are not group * weight channels", "group");
  if (!call.may_equal(Dim::mod(w[0], groups), 0))
    throw IllegalCall("output channels are not a multiple of group", "group");
  const Dim per_group = Dim::floor(w[0], groups);
  if (per_group.is(0)) throw OpaqueCall("no output channels");

  // Calls that the runtime rejects for any batch; with no channels it adds up arbitrary numbers.
  for (std::size_t i = 0; i < d; ++i) {
    call.need(x[i + 2] - Dim(1));
    call.need(window.output[i] - Dim(1));
  }
  call.need(x[1] - Dim(1));
  call.runs_if(per_group - Dim(1));

  ConvolutionAxes y;
  y.p = f.axes(image_shape(x[0], w[0], window.output));
  const auto c = f.axis(w[1]);
  const auto k = f.axes(window.kernel);
  const Index group = Index::floor(y.p[1], per_group);
  y.at_x = {y.p[0], w[1] * group + c};
  y.at_w = {y.p[1], c};
  y.reduced = {c};
  for (std::size_t i = 0; i < k.size(); ++i) {
    y.at_x.push_back(window.position(i, y.p[i + 2], k[i]));
    y.at_w.emplace_back(k[i]);
    y.reduced.push_back(k[i]);
  }
  return y;
}

namespace ops {
namespace {

Definition define_conv(const Call& call) {
  require_types(call, is_float);
  auto f = call.formula();
  const auto x = f.input(0), w = f.input(1);
  const auto at = read_convolution(call, f, x.shape(), w.shape());
  Expr y = sum(at.reduced, x.at(at.at_x) * w.at(at.at_w));
  if (call.has(2)) {
    if (call.rank(2) != 1 || !call.may_equal(call.shape(2)[0], w.extent(0)))
      return invalid("the bias has not one value per output channel");
    y = y + f.input(2)(at.p[1]);
  }
  f.output(at.p, y);
  return std::move(f).finish();
}

}  // namespace

extern const Operator kConv{
    .name = "Conv",
    .doc = "y[n,o,p] = b[o] + Σ x[n, g·C + c, stride·p + dilation·k - pad] · w[o,c,k]",
    .define = define_conv,
    .least_inputs = 2,
    .most_inputs = 3,
};

}  // namespace ops
}  // namespace isomer
