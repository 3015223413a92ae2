// Conv in 1 to 3 dimensions:  y[n,o,p] = b[o] + Σ_{c,k} x[n, g·C + c, stride·p + dilation·k - pad] · w[o, c,
// k], C = channels per group, g = floor(o / outputs per group); x is zero outside.
#include "ops/define.h"
#include "ops/window.h"

namespace isomer::ops {
namespace {

Definition define_conv(const Call& call) {
  require_types(call, is_float);
  const int d = call.rank(0) - 2;
  if (d < 1 || call.rank(1) != d + 2) return invalid("Conv needs an input and a weight of equal rank >= 3");
  if (d > 3) return opaque("more than 3 spatial dimensions");
  auto f = call.formula();
  const auto x = f.input(0), w = f.input(1);
  const Window window = read_window(call, spatial_extents(x.shape()), spatial_extents(w.shape()));

  const std::int64_t groups = call.integer("group", 1);
  if (groups < 1) return invalid("group must be at least 1", "group");
  if (x.extent(1).equals(Dim(groups) * w.extent(1)) == false)
    return invalid("input channels are not group * weight channels", "group");
  if (Dim::mod(w.extent(0), groups).equals(0) == false)
    return invalid("output channels are not a multiple of group", "group");
  const Dim per_group = Dim::floor(w.extent(0), groups);
  if (per_group.is(0)) return opaque("no output channels");

  const auto p = f.axes(image_shape(x.extent(0), w.extent(0), window.output));
  const auto c = f.axis(w.extent(1));
  const auto k = f.axes(window.kernel);
  const Index group = Index::floor(p[1], per_group);
  std::vector<Index> at_x{p[0], w.extent(1) * group + c}, at_w{p[1], c};
  std::vector<Axis> reduced{c};
  for (std::size_t i = 0; i < k.size(); ++i) {
    at_x.push_back(window.position(i, p[i + 2], k[i]));
    at_w.emplace_back(k[i]);
    reduced.push_back(k[i]);
  }
  Expr y = sum(reduced, x.at(at_x) * w.at(at_w));
  if (call.has(2)) {
    if (call.rank(2) != 1 || call.shape(2)[0].equals(w.extent(0)) == false)
      return invalid("the bias has not one value per output channel");
    y = y + f.input(2)(p[1]);
  }
  f.output(p, y);
  return std::move(f).finish();
}

void sample_conv(Sampler& s) {
  const int d = static_cast<int>(s.between(1, 3));
  const std::int64_t groups = s.pick({1, 1, 2, 3}), channels = s.between(1, 3);
  const std::int64_t outputs = groups * s.between(1, 3);
  Extents x{s.between(1, 2), groups * channels}, w{outputs, channels};
  for (int i = 0; i < d; ++i) w.push_back(s.between(1, 3));
  const Extents kernel(w.begin() + 2, w.end()), spatial = sample_window(s, kernel, {.crops = true});
  x.insert(x.end(), spatial.begin(), spatial.end());
  s.input(ElementType::Float, x);
  s.input(ElementType::Float, w);
  if (s.chance(0.5)) s.input(ElementType::Float, {outputs});
  if (groups > 1 || s.chance(0.2)) s.attribute("group", groups);
  if (s.chance(0.5)) s.attribute("kernel_shape", kernel);
}

}  // namespace

extern const Operator kConv{
    .name = "Conv",
    .doc = "y[n,o,p] = b[o] + Σ x[n, g·C + c, stride·p + dilation·k - pad] · w[o,c,k]",
    .define = define_conv,
    .sample = sample_conv,
    .least_inputs = 2,
    .most_inputs = 3,
};

}  // namespace isomer::ops
