// ScatterElements: y = data, but y[p with its index on an axis replaced by indices[p]] = updates[p], or that
// and the data combined.
#include "model/ops/scatter_elements.h"

#include "model/ops/scatter.h"

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
  const auto hits = [&](const std::vector<Index>& at) {
    return apply(Fn::Equal,
                 {index_number(p[a]), wrapped_index(indices.at(along(at[0])), data.extent(*axis))});
  };
  const Scattering s{.updates = {j},
                     .hits = hits,
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

extern const Operator kScatterElements{
    .name = "ScatterElements",
    .doc =
        "y = data with updates, or their sum, product, max or min with the data, at the indices along an "
        "axis",
    .define = define_scatter_elements,
    .since = 11,
    .least_inputs = 3,
    .most_inputs = 3,
};

}  // namespace isomer::ops
