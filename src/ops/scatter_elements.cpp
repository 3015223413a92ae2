// ScatterElements: y = data, but y[p with its index on an axis replaced by indices[p]] = updates[p], or that
// and the data combined.
#include "ops/scatter_elements.h"

#include "ops/scatter.h"

namespace isomer::ops {

Definition define_scatter_elements(const Call& call) {
  if (!is_index_type(call.type(1))) return invalid("indices must be int32 or int64");
  if (call.type(2) != call.type(0)) return invalid("updates have another type than the data");
  if (call.rank(0) < 1 || call.rank(1) != call.rank(0) || call.rank(2) != call.rank(0))
    return invalid("data, indices and updates must be of one rank >= 1");
  const auto axis = normalize_axis(call.integer("axis", 0), call.rank(0));
  if (!axis) return invalid("axis is outside of the input's rank", "axis");
  for (int i = 0; i < call.rank(0); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (!call.may_equal(call.shape(1)[at], call.shape(2)[at])) return invalid("not one update per index");
    if (i != *axis) call.need(call.shape(0)[at] - call.shape(1)[at]);
  }
  call.need_index(1, call.shape(0)[static_cast<std::size_t>(*axis)]);
  const std::string reduction = read_scatter_reduction(call);
  auto f = call.formula();
  const auto data = f.input(0), indices = f.input(1), updates = f.input(2);
  const auto a = static_cast<std::size_t>(*axis);
  const auto p = f.axes(data.shape());
  const Axis j = f.axis(indices.extent(*axis));
  const auto along = [&](const Index& i) {
    auto at = to_indices(p);
    at[a] = i;
    return at;
  };
  const Expr index = wrapped_index(indices.at(along(j)), data.extent(*axis));
  const Scattering s{.updates = {j},
                     .hits = apply(Fn::Equal, {index_number(p[a]), index}),
                     .value = [&](const std::vector<Index>& at) { return updates.at(along(at[0])); },
                     .data = data.at(to_indices(p))};
  Domain reached;  // beside the axis, indices may end before the data does
  for (std::size_t i = 0; i < p.size(); ++i)
    if (i != a && !Index(p[i]).is_inside(indices.shape()[i]))
      reached = both(std::move(reached), between(0, p[i], indices.shape()[i]));
  const Expr y = scattered(f, s, reduction);
  f.output(p, reached.empty() ? y : cases({{reached, y}}, s.data));
  return std::move(f).finish();
}

void sample_scatter_elements(Sampler& s) {
  const Extents shape = s.shape(1, 3);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t axis = s.between(0, rank - 1), extent = shape[static_cast<std::size_t>(axis)];
  const bool reduces = s.opset() >= 16 && s.chance(0.6);
  const ElementType type = reduces ? s.pick({ElementType::Float, ElementType::Int64}) : s.pick(kMovable);
  Extents index_shape = shape;
  for (std::int64_t& e : index_shape) e = s.between(1, e);
  // Without a reduction the indices of one line are different from each other.
  std::vector<std::int64_t> indices(static_cast<std::size_t>(*element_count(index_shape)));
  const auto order = s.permutation(static_cast<int>(extent));
  std::int64_t unit = 1;
  for (std::size_t i = static_cast<std::size_t>(axis) + 1; i < shape.size(); ++i) unit *= index_shape[i];
  const std::int64_t length = index_shape[static_cast<std::size_t>(axis)];
  for (std::size_t k = 0; k < indices.size(); ++k) {
    const std::int64_t place = static_cast<std::int64_t>(k) / unit % length;
    indices[k] = reduces ? s.between(0, extent - 1) : order[static_cast<std::size_t>(place)];
    if (s.opset() >= 11 && s.chance(0.3)) indices[k] -= extent;
  }
  s.input(type, shape);
  s.constant(Tensor::of(ElementType::Int64, index_shape, indices));
  s.inputs.back().constant = s.chance(0.5);
  s.input(type, index_shape);
  if (axis != 0 || s.chance(0.3)) s.attribute("axis", axis);
  if (reduces)
    s.attribute("reduction", s.opset() >= 18 ? s.pick<std::string>({"add", "mul", "max", "min"})
                                             : s.pick<std::string>({"add", "mul"}));
}

extern const Operator kScatterElements{
    .name = "ScatterElements",
    .doc =
        "y = data with updates, or their sum, product, max or min with the data, at the indices along an "
        "axis",
    .define = define_scatter_elements,
    .sample = sample_scatter_elements,
    .since = 11,
    .least_inputs = 3,
    .most_inputs = 3,
};

}  // namespace isomer::ops
