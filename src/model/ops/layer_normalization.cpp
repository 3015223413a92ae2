// LayerNormalization: y = (x - mean) / sqrt(variance + epsilon) · scale + bias, both over all axes from
// `axis` on. Further outputs are the mean and 1 / sqrt(variance + epsilon). ONNX has it since opset 17; ONNX
// Runtime's optimizer writes it into models of any.
#include "model/ops/shared/reduced_axes.h"
#include "model/ops/shared/stash.h"

namespace isomer::ops {
namespace {

Definition define_layer_normalization(const Call& call) {
  require_types(call, is_float);
  require_exact_stash(call);
  if (call.integer("stash_type", 1) != 1) return opaque("statistics of another type than float");
  const auto axis = normalize_axis(call.integer("axis", -1), call.rank(0));
  if (!axis) return invalid("axis is outside of the input's rank", "axis");
  auto f = call.formula();
  const auto x = f.input(0);
  const auto over = ReducedAxes::from(x.shape(), *axis);
  if (over.is_empty()) return opaque("statistics of no elements");
  call.need(product(over.extents()) - Dim(1));
  const auto mean = mean_stage(f, over, [&](const std::vector<Index>& at) { return x.at(at); });
  const Body centred = [&](const std::vector<Index>& at) { return x.at(at) - mean.at(over.squash(at)); };
  const auto deviation = root_mean_square_stage(f, over, centred, finite_real(call, "epsilon", 1e-5F));

  const auto p = f.axes(x.shape());
  const auto at = to_indices(p);
  Expr y = centred(at) / deviation.at(over.squash(at));
  for (int k = 1; k < 3; ++k) {
    if (!call.has(k)) continue;
    const auto shape = call.broadcast({x.shape(), call.shape(k)});
    if (!shape || *shape != x.shape()) return opaque("scale or bias does not broadcast to the input");
    y = k == 1 ? y * broadcast(f.input(k), p) : y + broadcast(f.input(k), p);
  }
  f.output(p, y);
  const auto q = f.axes(over.kept()), r = f.axes(over.kept());
  if (call.output_count > 1) f.output(q, cast(mean.at(to_indices(q)), ElementType::Float));
  if (call.output_count > 2) f.output(r, cast(1.0 / deviation.at(to_indices(r)), ElementType::Float));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kLayerNormalization{
    .name = "LayerNormalization",
    .doc = "y = (x - mean) / sqrt(variance + epsilon) · scale + bias from an axis on",
    .define = define_layer_normalization,
    .least_inputs = 2,
    .most_inputs = 3,
};

}  // namespace isomer::ops
