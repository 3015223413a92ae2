// GatherElements: y[p] = data[p], with p's index on one axis replaced by indices[p]; a negative index counts
// from the end.
#include "model/ops/shared/look_up.h"

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
      const Dim rest =
          call.shape(0)[static_cast<std::size_t>(i)] - call.shape(1)[static_cast<std::size_t>(i)];
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

}  // namespace

extern const Operator kGatherElements{
    .name = "GatherElements",
    .doc = "y[p] = data[p with its index on an axis replaced by indices[p]]",
    .define = define_gather_elements,
    .since = 11,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
