// InstanceNormalization: y[n,c,...] = (x - mean) / sqrt(variance + epsilon) · scale[c] + bias[c], both over
// the spatial dimensions.
#include "model/ops/shared/reduced_axes.h"

namespace isomer::ops {
namespace {

Definition define_instance_normalization(const Call& call) {
  require_types(call, is_float);
  if (call.rank(0) < 3) return opaque("an input without spatial dimensions");
  auto f = call.formula();
  const auto x = f.input(0);
  for (int k = 1; k < 3; ++k)
    if (call.rank(k) != 1 || !call.may_equal(call.shape(k)[0], x.extent(1)))
      return invalid("scale or bias has not one value per channel");
  const auto over = ReducedAxes::from(x.shape(), 2);
  if (over.is_empty()) return opaque("statistics of no elements");
  const auto mean = mean_stage(f, over, [&](const std::vector<Index>& at) { return x.at(at); });
  const Body centred = [&](const std::vector<Index>& at) { return x.at(at) - mean.at(over.squash(at)); };
  const auto deviation = root_mean_square_stage(f, over, centred, finite_real(call, "epsilon", 1e-5F));
  const auto p = f.axes(x.shape());
  const auto at = to_indices(p);
  f.output(p, centred(at) / deviation.at(over.squash(at)) * f.input(1)(p[1]) + f.input(2)(p[1]));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kInstanceNormalization{
    .name = "InstanceNormalization",
    .doc = "y = (x - mean) / sqrt(variance + epsilon) · scale + bias per instance and channel",
    .define = define_instance_normalization,
    .least_inputs = 3,
    .most_inputs = 3,
};

}  // namespace isomer::ops
