#include "compiler/schedule/legality_parts.h"

#include <algorithm>

#include "base/nth.h"
#include "compiler/loops/compose.h"
#include "compiler/loops/fused_axes.h"
#include "model/expr/reads.h"

namespace isomer::lower {

Dims extents_of(const std::vector<Axis>& axes) {
  Dims out;
  for (const Axis& a : axes) out.push_back(a.extent);
  return out;
}

std::vector<Axis> axes_of(const Nest& nest) {
  std::vector<Axis> all = nest.axes;
  if (nest.reduction) all.insert(all.end(), nest.reduction->axes.begin(), nest.reduction->axes.end());
  return all;
}

bool are_same_axes(std::vector<Axis> a, std::vector<Axis> b) {
  std::erase_if(a, [](const Axis& x) { return x.extent.is(1); });
  std::erase_if(b, [](const Axis& x) { return x.extent.is(1); });
  std::ranges::sort(a, {}, &Axis::id);
  std::ranges::sort(b, {}, &Axis::id);
  return a == b;
}

bool is_above(const Dim& a, const Dim& b, const Sizes& sizes) {
  return sizes.from_least(a - b - Dim(1)).at_least(0) == true;
}

SetSpace space_of(const Plan& plan) {
  std::vector<std::string> names;
  Dims hold;
  for (const OpenSize& size : plan.sizes.open) {
    names.push_back(size.name);
    hold.push_back(Dim::symbol(size.name) - Dim(size.least));
    if (size.most) hold.push_back(Dim(*size.most) - Dim::symbol(size.name));
  }
  return {names, hold, kMostOperations};
}

Relation access(const SetSpace& space, const std::vector<Axis>& over, const std::vector<Index>& to,
                const Domain& conditions) {
  const auto [axes, at, domain] = unfuse({over, to, conditions});
  const int in = static_cast<int>(axes.size()), out = static_cast<int>(at.size());
  RelationBuilder builder(space, in, out, 0);
  for (int k = 0; k < in; ++k) {
    builder.name_axis(nth(axes, k), k);
    builder.inside(k, nth(axes, k).extent);
  }
  for (int k = 0; k < out; ++k) builder.equal(in + k, nth(at, k));
  builder.hold(domain);
  builder.hold_all_preconditions();
  return builder.finish();
}

std::set<int> read_by(const Nest& nest) {
  std::set<int> out;
  std::vector<Axis> reduced;
  const Expr value = nest.tile || nest.winograd
                         ? with_part(nest.value, nest.reduction, number(nest.reduction->type, 0))
                         : nest.value;
  for_each_read(*value, reduced,
                [&](const ExprNode& e, const std::vector<Axis>&) { out.insert(e.tensor.number); });
  if (nest.tile) out.insert({nest.tile->left, nest.tile->right});
  if (nest.winograd) out.insert({nest.winograd->left, nest.winograd->weights, nest.winograd->zeros});
  return out;
}

bool has_own_tensors(const Nest& nest) { return nest.strip && nest.strip->apart; }

}  // namespace isomer::lower
