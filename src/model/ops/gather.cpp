// Gather: y[a, q, b] = data[a, indices[q], b]; a negative index counts from the end.
//
// Indices that are known and go in equal steps, also digit by digit, make an index; a few other known ones a
// case distinction. Indices that are computed are looked up as a sum over the axis of which one term is not
// zero: Σ_v (v = index ? data[v] : 0).
#include "model/ops/shared/look_up.h"

namespace isomer::ops {
namespace {

constexpr std::size_t kLargestTable = 16;  // larger tables of reads are slower to prove with than a look-up

Definition define_gather(const Call& call) {
  if (!is_index_type(call.type(1))) return invalid("indices must be int32 or int64");
  const auto axis = normalize_axis(call.integer("axis", 0), call.rank(0));
  if (!axis) return invalid("axis is outside of the input's rank", "axis");
  auto f = call.formula();
  const auto data = f.input(0), indices = f.input(1);
  const Dim& extent = data.extent(*axis);
  Dims shape(data.shape().begin(), data.shape().begin() + *axis);
  shape.insert(shape.end(), indices.shape().begin(), indices.shape().end());
  shape.insert(shape.end(), data.shape().begin() + *axis + 1, data.shape().end());
  const auto p = f.axes(shape);
  const std::vector<Axis> q(p.begin() + *axis, p.begin() + *axis + indices.rank());
  const auto data_at = [&](const Index& v) {
    std::vector<Index> at(p.begin(), p.begin() + *axis);
    at.push_back(v);
    at.insert(at.end(), p.begin() + *axis + indices.rank(), p.end());
    return data.at(at);
  };

  const auto known = known_indices(call.in(1).integers, extent);
  const auto extents = concrete(indices.shape());
  if (known && extents) {
    for (const Dim& index : *known) {
      if (index.at_least(0) == false || extent.at_least(index + Dim(1)) == false)
        return invalid("an index is outside of the axis");
      call.need(index);
      call.need(extent - index - Dim(1));
    }
    if (const auto affine = as_progression(*known, *extents, q)) {
      f.output(p, data_at(*affine));
      return std::move(f).finish();
    }
    if (const auto digits = as_digits(*known, linearize(to_indices(q), indices.shape()))) {
      f.output(p, data_at(*digits));
      return std::move(f).finish();
    }
    if (known->size() <= kLargestTable) {
      std::vector<Expr> reads;
      for (const Dim& index : *known) reads.push_back(data_at(Index(index)));
      f.output(p, tabulate(linearize(to_indices(q), indices.shape()), reads));
      return std::move(f).finish();
    }
  }
  if (!known || call.in(1).constant) call.need_index(1, extent);
  f.output(p, look_up(f, indices.at(to_indices(q)), extent, data_at));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kGather{
    .name = "Gather",
    .doc = "y[a, q, b] = data[a, indices[q], b]",
    .define = define_gather,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
