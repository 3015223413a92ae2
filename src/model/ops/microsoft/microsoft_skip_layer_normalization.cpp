// com.microsoft.SkipLayerNormalization and its simplified form: LayerNormalization, or RMSNormalization, of z
// = x + skip + bias along the last axis. The fourth output is z.
#include "model/ops/shared/reduced_axes.h"
#include "model/ops/shared/require_shape.h"

namespace isomer::ops {
namespace {

// Inputs: x, skip, gamma, then beta (only where the mean is taken out), then bias.
Definition define_skip(const Call& call, bool simplified) {
  require_types(call, is_float);
  auto f = call.formula();
  const auto x = f.input(0);
  const int beta = simplified ? -1 : 3, bias = simplified ? 3 : 4;
  if (x.rank() != 3 && x.rank() != 2) return invalid("x must be of rank 2 or 3");
  if (call.shape(1) != call.shape(0)) return opaque("a skip of another shape");
  for (const int k : {2, beta, bias})
    if (k > 0 && call.has(k)) require_shape(call, k, {x.shape().back()});
  const double epsilon = finite_real(call, "epsilon", 1e-12F);
  if (epsilon < 0) return opaque("an epsilon below 0, which the runtime refuses");
  if (call.output_count == 2 || call.output_count == 3) return opaque("the statistics are used");
  const auto p = f.axes(x.shape());
  Expr total = x.at(to_indices(p)) + f.input(1).at(to_indices(p));
  if (call.has(bias)) total = total + f.input(bias)(p.back());
  const auto z = f.stage(p, total);
  const auto over = ReducedAxes::only(x.shape(), x.rank() - 1);
  Body centred = [&](const std::vector<Index>& at) { return z.at(at); };
  std::optional<FormulaBuilder::Tensor> mean;
  if (!simplified) {
    mean = mean_stage(f, over, [&](const std::vector<Index>& at) { return z.at(at); });
    centred = [&](const std::vector<Index>& at) { return z.at(at) - mean->at(over.squash(at)); };
  }
  const auto size = root_mean_square_stage(f, over, centred, epsilon);
  const auto q = f.axes(x.shape());
  Expr y = centred(to_indices(q)) / size.at(over.squash(to_indices(q))) * f.input(2)(q.back());
  if (beta > 0 && call.has(beta)) y = y + f.input(beta)(q.back());
  f.output(q, y);
  if (call.output_count > 3) {
    // Two unused outputs stand between.
    for (int k = 0; k < 2; ++k) {
      const auto r = f.axes(over.kept());
      f.output(r, size.at(to_indices(r)) * 0.0);
    }
    const auto o = f.axes(x.shape());
    f.output(o, z.at(to_indices(o)));
  }
  return std::move(f).finish();
}

}  // namespace

extern const Operator kMicrosoftSkipLayerNormalization{
    .name = "SkipLayerNormalization",
    .doc = "y = (z - mean) / sqrt(variance + epsilon) · gamma + beta, z = x + skip + bias",
    .define = [](const Call& call) { return define_skip(call, false); },
    .domain = "com.microsoft",
    .least_inputs = 3,
    .most_inputs = 5,
};

extern const Operator kMicrosoftSkipSimplifiedLayerNormalization{
    .name = "SkipSimplifiedLayerNormalization",
    .doc = "y = z / sqrt(mean of z² + epsilon) · gamma, z = x + skip + bias",
    .define = [](const Call& call) { return define_skip(call, true); },
    .domain = "com.microsoft",
    .least_inputs = 3,
    .most_inputs = 4,
};

}  // namespace isomer::ops
