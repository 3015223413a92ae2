// ConvTranspose in 1 to 3 dimensions, the transpose of Conv in x:
//   y[n,o,p] = b[o] + Σ_{c,i,k : stride·i + dilation·k = p + pad} x[n, g·C + c, i] · w[g·C + c, o - g·O, k].
// Only every stride-th tap meets a position: without dilation these are k = stride·j + (p + pad) mod stride,
// so that the sum runs over j alone, with i = floor((p + pad) / stride) - j.
#include "model/ops/shared/define.h"
#include "model/ops/shared/window.h"

namespace isomer::ops {
namespace {

struct Tap {
  Axis axis;
  Index input, kernel;
  Domain when;
};

Tap tap(FormulaBuilder& f, const Window& w, std::size_t i, const Index& position) {
  const Dim stride = w.strides[i], dilation = w.dilations[i];
  const Index padded = position + Index(w.pad_begin[i]);
  if (dilation.is(1)) {
    const Axis j = f.axis(Dim::ceil(w.kernel[i], stride));
    return {j, Index::floor(padded, stride) - Index(j), stride * Index(j) + Index::mod(padded, stride), {}};
  }
  const Axis k = f.axis(w.kernel[i]);
  const Index scaled = padded - dilation * Index(k);
  return {k, Index::floor(scaled, stride), k,
          stride.is(1) ? Domain{} : equal_to(Index::mod(scaled, stride), 0)};
}

Definition define_conv_transpose(const Call& call) {
  require_types(call, is_float);
  const int d = call.rank(0) - 2;
  if (d < 1 || call.rank(1) != d + 2)
    return invalid("ConvTranspose needs an input and a weight of equal rank >= 3");
  if (d > 3) return opaque("more than 3 spatial dimensions");
  auto f = call.formula();
  const auto x = f.input(0), w = f.input(1);
  const Window window = read_transposed_window(call, spatial_extents(x.shape()), spatial_extents(w.shape()));

  const std::int64_t groups = call.integer("group", 1);
  if (groups < 1) return invalid("group must be at least 1", "group");
  if (!call.may_equal(x.extent(1), w.extent(0))) return invalid("input channels differ from the weight's");
  if (!call.may_equal(Dim::mod(w.extent(0), groups), 0))
    return invalid("input channels are not a multiple of group", "group");
  const Dim per_group = Dim::floor(w.extent(0), groups), outputs = Dim(groups) * w.extent(1);
  if (outputs.is(0)) return opaque("no output channels");

  const auto p = f.axes(image_shape(x.extent(0), outputs, window.output));
  const auto c = f.axis(per_group);
  const Index channel = per_group * Index::floor(p[1], w.extent(1)) + c;
  std::vector<Index> at_x{p[0], channel}, at_w{channel, Index::mod(p[1], w.extent(1))};
  std::vector<Axis> reduced{c};
  Domain when;
  for (std::size_t i = 0; i < window.kernel.size(); ++i) {
    const Tap t = tap(f, window, i, p[i + 2]);
    at_x.push_back(t.input);
    at_w.push_back(t.kernel);
    reduced.push_back(t.axis);
    when = both(when, t.when);
  }
  Expr y = sum(reduced, x.at(at_x) * w.at(at_w), when);
  if (call.has(2)) {
    if (call.rank(2) != 1 || !call.may_equal(call.shape(2)[0], outputs))
      return invalid("the bias has not one value per output channel");
    y = y + f.input(2)(p[1]);
  }
  f.output(p, y);
  return std::move(f).finish();
}

}  // namespace

extern const Operator kConvTranspose{
    .name = "ConvTranspose",
    .doc = "y[n,o,p] = b[o] + Σ x[n,c,i] · w[c,o,k] over stride·i + dilation·k = p + pad",
    .define = define_conv_transpose,
    .least_inputs = 2,
    .most_inputs = 3,
};

}  // namespace isomer::ops
