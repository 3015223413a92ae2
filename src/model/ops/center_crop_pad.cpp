// CenterCropPad: y[p] = x[p + start], start = floor((extent - target) / 2) where x is cut, and -floor((target
// - extent) / 2) where it is padded with zeros.
#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_center_crop_pad(const Call& call) {
  const auto& targets = call.in(1).integers;
  if (!targets) return opaque("the shape is not known");
  std::vector<int> axes;
  for (int i = 0; i < call.rank(0); ++i) axes.push_back(i);
  if (const auto listed = call.integers("axes")) {
    const auto normalized = normalize_axes(*listed, call.rank(0));
    if (!normalized) return invalid("axes are outside of the input's rank, or repeated", "axes");
    axes = *normalized;
  }
  if (axes.size() != targets->size()) return invalid("there is not one extent per axis", "axes");
  auto f = call.formula();
  const auto x = f.input(0);
  Dims shape = x.shape(), starts(x.shape().size(), 0);
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const auto a = static_cast<std::size_t>(axes[k]);
    const Dim& target = (*targets)[k];
    const auto is_cut = x.shape()[a].at_least(target);
    if (!is_cut) return opaque("whether an axis is cut or padded is not known");
    starts[a] =
        *is_cut ? Dim::floor(x.shape()[a] - target, 2) : Dim(0) - Dim::floor(target - x.shape()[a], 2);
    shape[a] = target;
  }
  const auto p = f.axes(shape);
  std::vector<Index> at;
  for (std::size_t i = 0; i < p.size(); ++i) at.push_back(Index(p[i]) + Index(starts[i]));
  f.output(p, x.at(at));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kCenterCropPad{
    .name = "CenterCropPad",
    .doc = "y = the middle of x, or x in the middle of zeros",
    .define = define_center_crop_pad,
    .since = 18,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
