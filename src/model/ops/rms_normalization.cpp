// RMSNormalization: y = x / sqrt(mean of x² + epsilon) · scale, the mean over all axes from `axis` on.
#include "model/ops/shared/reduced_axes.h"
#include "model/ops/shared/stash.h"

namespace isomer::ops {
namespace {

Definition define_rms_normalization(const Call& call) {
  require_types(call, is_float);
  require_exact_stash(call);
  const auto axis = normalize_axis(call.integer("axis", -1), call.rank(0));
  if (!axis) return invalid("axis is outside of the input's rank", "axis");
  auto f = call.formula();
  const auto x = f.input(0);
  const auto over = ReducedAxes::from(x.shape(), *axis);
  if (over.is_empty()) return opaque("statistics of no elements");
  call.need(product(over.extents()) - Dim(1));
  if (call.output_count > 1) return opaque("the statistics are used");
  const auto shape = call.broadcast({x.shape(), call.shape(1)});
  if (!shape || *shape != x.shape()) return opaque("scale does not broadcast to the input");
  const auto size = root_mean_square_stage(
      f, over, [&](const std::vector<Index>& at) { return x.at(at); }, finite_real(call, "epsilon", 1e-5F));
  const auto p = f.axes(x.shape());
  f.output(p, x.at(to_indices(p)) / size.at(over.squash(to_indices(p))) * broadcast(f.input(1), p));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kRMSNormalization{
    .name = "RMSNormalization",
    .doc = "y = x / sqrt(mean of x² + epsilon) · scale from an axis on",
    .define = define_rms_normalization,
    .since = 23,
    .least_inputs = 2,
    .most_inputs = 2,
};

// ONNX Runtime's name for it, in the standard domain.
extern const Operator kSimplifiedLayerNormalization{
    .name = "SimplifiedLayerNormalization",
    .doc = "y = x / sqrt(mean of x² + epsilon) · scale from an axis on",
    .define = define_rms_normalization,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
