#include <algorithm>

#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_transpose(const Call& call) {
  const int rank = call.rank(0);
  std::vector<std::int64_t> reversed;
  for (int i = rank; i-- > 0;) reversed.push_back(i);
  if (const auto given = call.integers("perm"); given && !given->empty() && std::ranges::min(*given) < 0)
    return invalid("perm is below 0", "perm");
  const auto perm = normalize_axes(call.integers("perm").value_or(reversed), rank);
  if (!perm || static_cast<int>(perm->size()) != rank)
    return invalid("perm is not a permutation of the axes", "perm");
  auto f = call.formula();
  const auto x = f.input(0);
  Dims shape;
  for (const int axis : *perm) shape.push_back(x.extent(axis));
  const auto p = f.axes(shape);
  std::vector<Index> at(p.size());
  for (std::size_t i = 0; i < p.size(); ++i) at[static_cast<std::size_t>((*perm)[i])] = p[i];
  f.output(p, x.at(at));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kTranspose{
    .name = "Transpose",
    .doc = "y[p] = x[q] with q[perm[i]] = p[i]; without perm the axes are reversed",
    .define = define_transpose,
    .most_inputs = 1,
};

}  // namespace isomer::ops
