// GatherND: y[b, q, r] = data[b, indices[b, q, 0], indices[b, q, 1], ..., r], b over batch_dims axes; a
// negative index counts from the end. Known indices that go in equal steps make affine ones; others are
// looked up, one inside of the other.
#include "model/ops/shared/look_up.h"

namespace isomer::ops {
namespace {

// Column k of the last axis of known indices.
std::optional<Dims> column(const std::optional<Dims>& known, std::size_t k, std::size_t depth) {
  if (!known) return std::nullopt;
  Dims out;
  for (std::size_t i = k; i < known->size(); i += depth) out.push_back((*known)[i]);
  return out;
}

Definition define_gather_nd(const Call& call) {
  if (!is_index_type(call.type(1))) return invalid("indices must be int32 or int64");
  if (call.rank(1) < 1) return invalid("indices must have an axis");
  const auto batch = call.integer("batch_dims", 0);
  const auto depth = call.shape(1).back().value();
  if (!depth) return opaque("how long the tuples of indices are is not known");
  if (batch < 0 || batch >= call.rank(1) || *depth < 0 || batch + *depth > call.rank(0))
    return invalid("the tuples of indices are longer than the data's rank", "batch_dims");
  for (int i = 0; i < batch; ++i)
    if (!call.may_equal(call.shape(0)[static_cast<std::size_t>(i)],
                        call.shape(1)[static_cast<std::size_t>(i)]))
      return invalid("the batches differ", "batch_dims");
  auto f = call.formula();
  const auto data = f.input(0), indices = f.input(1);
  const std::size_t b = static_cast<std::size_t>(batch), tuples = call.shape(1).size() - 1;
  Dims shape(indices.shape().begin(), indices.shape().end() - 1);
  shape.insert(shape.end(), data.shape().begin() + batch + *depth, data.shape().end());
  // Where there is nothing to copy, the runtime does not look at indices.
  const Dim slice = product(Dims(data.shape().begin() + batch + *depth, data.shape().end()));
  const auto p = f.axes(shape);
  const std::vector<Axis> q(p.begin(), p.begin() + static_cast<std::ptrdiff_t>(tuples));
  const auto extents = concrete(Dims(indices.shape().begin(), indices.shape().end() - 1));

  std::vector<Index> at = to_indices({p.begin(), p.begin() + batch});
  const std::function<Expr(std::int64_t)> element = [&](std::int64_t k) -> Expr {
    if (k == *depth) {
      auto whole = at;
      whole.insert(whole.end(), p.begin() + static_cast<std::ptrdiff_t>(tuples), p.end());
      return data.at(whole);
    }
    const Dim& extent = data.shape()[b + static_cast<std::size_t>(k)];
    const auto next = [&](const Index& v) {
      at.push_back(v);
      Expr inner = element(k + 1);
      at.pop_back();
      return inner;
    };
    const auto known = known_indices(
        column(call.in(1).integers, static_cast<std::size_t>(k), static_cast<std::size_t>(*depth)), extent);
    if (known) {
      for (const Dim& index : *known) {
        call.need(slice * index);
        call.need(slice * (extent - index - Dim(1)));
      }
    } else {
      call.need_index(1, extent, static_cast<int>(k));
      call.exact_if(slice - Dim(1));
    }
    if (const auto affine = known && extents ? as_progression(*known, *extents, q) : std::nullopt)
      return next(*affine);
    if (known && is_concrete(*known)) call.need_index(1, extent, static_cast<int>(k));
    auto place = to_indices(q);
    place.emplace_back(k);
    return look_up(f, indices.at(place), extent, next);
  };
  f.output(p, element(0));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kGatherND{
    .name = "GatherND",
    .doc = "y[b, q, r] = data[b, the tuple indices[b, q], r]",
    .define = define_gather_nd,
    .since = 11,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
