// GatherElements: y[p] = data[p], with p's index on one axis replaced by indices[p]; a negative index counts
// from the end.
#include "ops/look_up.h"

namespace isomer::ops {
namespace {

Definition define_gather_elements(const Call& call) {
  if (!is_index_type(call.type(1))) return invalid("indices must be int32 or int64");
  if (call.rank(0) != call.rank(1) || call.rank(0) < 1)
    return invalid("data and indices must be of one rank >= 1");
  const auto axis = normalize_axis(call.integer("axis", 0), call.rank(0));
  if (!axis) return invalid("axis is outside of the input's rank", "axis");
  for (int i = 0; i < call.rank(0); ++i)
    if (i != *axis) {
      const Dim rest = call.shape(0)[static_cast<std::size_t>(i)] - call.shape(1)[static_cast<std::size_t>(i)];
      if (rest.at_least(0) == false) return invalid("the indices are longer than the data beside the axis");
      call.need(rest);
    }
  call.need_index(1, call.shape(0)[static_cast<std::size_t>(*axis)]);
  auto f = call.formula();
  const auto data = f.input(0), indices = f.input(1);
  const auto p = f.axes(indices.shape());
  f.output(p, look_up(f, indices.at(to_indices(p)), data.extent(*axis), [&](const Index& v) {
             auto at = to_indices(p);
             at[static_cast<std::size_t>(*axis)] = v;
             return data.at(at);
           }));
  return std::move(f).finish();
}

void sample_gather_elements(Sampler& s) {
  const Extents shape = s.shape(1, 4);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t axis = s.between(0, rank - 1), extent = shape[static_cast<std::size_t>(axis)];
  s.input(s.pick(kMovable), shape);
  Extents index_shape = shape;
  for (std::int64_t& e : index_shape) e = s.between(1, e);
  index_shape[static_cast<std::size_t>(axis)] = s.between(1, 6);
  std::vector<std::int64_t> indices(static_cast<std::size_t>(*element_count(index_shape)));
  for (std::int64_t& i : indices) i = s.between(-extent, extent - 1);
  s.constant(Tensor::of(ElementType::Int64, index_shape, indices));
  s.inputs.back().constant = s.chance(0.5);
  if (axis != 0 || s.chance(0.3)) s.attribute("axis", s.chance(0.3) ? axis - rank : axis);
}

}  // namespace

extern const Operator kGatherElements{
    .name = "GatherElements",
    .doc = "y[p] = data[p with its index on an axis replaced by indices[p]]",
    .define = define_gather_elements,
    .sample = sample_gather_elements,
    .since = 11,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
