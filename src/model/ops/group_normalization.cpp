// GroupNormalization: y[n,c,...] = (x - mean) / sqrt(variance + epsilon) · scale + bias, both over the
// channels of a group and all spatial dimensions. Scale and bias have a value per channel; before opset 21
// per group.
#include "model/ops/shared/reduced_axes.h"
#include "model/ops/shared/stash.h"

namespace isomer::ops {
namespace {

Definition define_group_normalization(const Call& call) {
  require_types(call, is_float);
  const bool per_group = call.opset < 21;
  if (!per_group) require_exact_stash(call);
  if (call.rank(0) < 2) return invalid("an input without channels");
  auto f = call.formula();
  const auto x = f.input(0);
  const std::int64_t groups = call.integer("num_groups", 0);
  if (groups < 1) return invalid("num_groups must be at least 1", "num_groups");
  if (!call.may_equal(Dim::mod(x.extent(1), groups), 0))
    return invalid("channels are not a multiple of num_groups", "num_groups");
  const Dim size = Dim::floor(x.extent(1), groups);
  for (int k = 1; k < 3; ++k)
    if (call.rank(k) != 1 || !call.may_equal(call.shape(k)[0], per_group ? Dim(groups) : x.extent(1)))
      return invalid("scale or bias has the wrong extent");

  // x seen as [N, groups, channels of a group, ...].
  Dims shape{x.extent(0), groups, size};
  shape.insert(shape.end(), x.shape().begin() + 2, x.shape().end());
  const auto over = ReducedAxes::from(shape, 2);
  if (over.is_empty()) return opaque("statistics of no elements");
  const Body grouped = [&](const std::vector<Index>& q) {
    std::vector<Index> at{q[0], size * q[1] + q[2]};
    at.insert(at.end(), q.begin() + 3, q.end());
    return x.at(at);
  };
  const auto mean = mean_stage(f, over, grouped);
  const Body centred = [&](const std::vector<Index>& q) { return grouped(q) - mean.at(over.squash(q)); };
  const auto deviation = root_mean_square_stage(f, over, centred, finite_real(call, "epsilon", 1e-5F));

  const auto p = f.axes(x.shape());
  const Index group = Index::floor(p[1], size), parameter = per_group ? group : Index(p[1]);
  std::vector<Index> statistic(shape.size(), 0);
  statistic[0] = p[0], statistic[1] = group;
  const Expr normal = (x.at(to_indices(p)) - mean.at(statistic)) / deviation.at(statistic);
  f.output(p, normal * f.input(1)(parameter) + f.input(2)(parameter));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kGroupNormalization{
    .name = "GroupNormalization",
    .doc = "y = (x - mean) / sqrt(variance + epsilon) · scale + bias per group of channels",
    .define = define_group_normalization,
    .since = 18,
    .least_inputs = 3,
    .most_inputs = 3,
};

}  // namespace isomer::ops
