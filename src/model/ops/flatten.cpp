// Flatten: all axes before `axis` become one, and all from it on another.
#include "model/ops/reshape.h"
#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_flatten(const Call& call) {
  const int rank = call.rank(0);
  const std::int64_t axis = call.integer("axis", 1);
  if (axis < -rank || axis > rank) return invalid("axis is outside of the input's rank", "axis");
  if (axis < 0 && call.opset < 11) return invalid("axis is below 0, before opset 11", "axis");
  const auto split = axis < 0 ? axis + rank : axis;
  auto f = call.formula();
  const auto x = f.input(0);
  const Dims& from = x.shape();
  const Dims to{product(Dims(from.begin(), from.begin() + split)),
                product(Dims(from.begin() + split, from.end()))};
  const auto p = f.axes(to);
  f.output(p, x.at(reshaped_position(from, to, p)));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kFlatten{
    .name = "Flatten",
    .doc = "y = x as a matrix: the axes before `axis`, and those from it on",
    .define = define_flatten,
    .most_inputs = 1,
};

}  // namespace isomer::ops
