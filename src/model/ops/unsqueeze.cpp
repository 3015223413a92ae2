// Unsqueeze: inserts axes of extent 1, so that they are at the given places of the output. The places are an
// attribute before opset 13, an input since.
#include <algorithm>

#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_unsqueeze(const Call& call) {
  const auto list = integer_list(call, "axes", 1, 13);
  if (!list.given) return invalid("the axes are missing", "axes");
  const auto values = list.concrete();
  if (!values) return opaque("the axes are not known");
  const int rank = call.rank(0) + static_cast<int>(values->size());
  const auto axes = normalize_axes(*values, rank);
  if (!axes) return invalid("axes are outside of the output's rank, or repeated", "axes");
  auto f = call.formula();
  const auto x = f.input(0);
  Dims shape;
  for (int i = 0, next = 0; i < rank; ++i)
    shape.push_back(std::ranges::find(*axes, i) != axes->end() ? Dim(1) : x.extent(next++));
  const auto p = f.axes(shape);
  std::vector<Index> at;
  for (int i = 0; i < rank; ++i)
    if (std::ranges::find(*axes, i) == axes->end()) at.emplace_back(p[static_cast<std::size_t>(i)]);
  f.output(p, x.at(at));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kUnsqueeze{
    .name = "Unsqueeze",
    .doc = "y = x with further axes of extent 1",
    .define = define_unsqueeze,
    .most_inputs = 2,
};

}  // namespace isomer::ops
