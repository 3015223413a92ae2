// Shape: the input's extents from axis start to axis end, both clamped to its rank.
#include <algorithm>

#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_shape(const Call& call) {
  const std::int64_t rank = call.rank(0);
  const auto clamp = [&](std::int64_t axis) {
    return std::clamp(axis < 0 ? axis + rank : axis, std::int64_t{0}, rank);
  };
  const std::int64_t start = clamp(call.integer("start", 0));
  const std::int64_t end = std::max(start, clamp(call.integer("end", rank)));
  std::vector<Expr> extents{integer(ElementType::Int64, 0)};  // for an empty result
  if (start < end) extents.clear();
  for (std::int64_t i = start; i < end; ++i)
    extents.push_back(index_number(Index(call.shape(0)[static_cast<std::size_t>(i)])));
  auto f = call.formula();
  const auto p = f.axis(end - start);
  f.output({p}, tabulate(p, extents));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kShape{
    .name = "Shape",
    .doc = "y[i] = the extent of axis start + i",
    .define = define_shape,
    .most_inputs = 1,
};

}  // namespace isomer::ops
