// MeanVarianceNormalization: y = (x - mean) / (sqrt(variance) + 1e-9) over the given axes.
#include "model/ops/shared/reduced_axes.h"

namespace isomer::ops {
namespace {

constexpr double kEpsilon = 1e-9F;  // of the standard's own definition, a float

Definition define_mean_variance_normalization(const Call& call) {
  require_types(call, is_float);
  const auto axes =
      normalize_axes(call.integers("axes").value_or(std::vector<std::int64_t>{0, 2, 3}), call.rank(0));
  if (!axes) return invalid("an axis is outside of the input's rank or there twice", "axes");
  auto f = call.formula();
  const auto x = f.input(0);
  std::vector<bool> reduced(x.shape().size(), false);
  for (const int axis : *axes) reduced[static_cast<std::size_t>(axis)] = true;
  const ReducedAxes over(x.shape(), reduced);
  if (over.is_empty()) return opaque("statistics of no elements");
  const auto mean = mean_stage(f, over, [&](const std::vector<Index>& at) { return x.at(at); });
  const Body centred = [&](const std::vector<Index>& at) { return x.at(at) - mean.at(over.squash(at)); };
  const auto deviation = root_mean_square_stage(f, over, centred, 0);
  const auto p = f.axes(x.shape());
  f.output(p, centred(to_indices(p)) / (deviation.at(over.squash(to_indices(p))) + kEpsilon));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kMeanVarianceNormalization{
    .name = "MeanVarianceNormalization",
    .doc = "y = (x - mean) / (sqrt(variance) + 1e-9) over the axes",
    .define = define_mean_variance_normalization,
    .since = 9,
    .most_inputs = 1,
};

}  // namespace isomer::ops
