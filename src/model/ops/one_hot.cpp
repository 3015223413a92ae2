// OneHot: a new axis of extent depth that holds values[1] at the index and values[0] elsewhere. Negative
// indices count from the end; indices outside of -depth..depth-1 are nowhere.
#include <cmath>

#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

std::optional<Dim> read_depth(const Call& call) {
  if (const auto& known = call.in(1).integers)
    return known->size() == 1 ? std::optional(known->front()) : std::nullopt;
  const auto& constant = call.in(1).constant;
  if (!constant || constant->count() != 1) return std::nullopt;
  const double depth = std::trunc(constant->doubles()->front());
  return std::abs(depth) < 0x1p53 ? std::optional(Dim(static_cast<std::int64_t>(depth))) : std::nullopt;
}

Definition define_one_hot(const Call& call) {
  const auto depth = read_depth(call);
  if (!depth) return opaque("the depth is not known");
  if (depth->at_least(1) == false) return invalid("the depth must be at least 1");
  call.need(*depth - Dim(1));
  const auto axis = normalize_axis(call.integer("axis", -1), call.rank(0) + 1);
  if (!axis) return invalid("axis is outside of the output's rank", "axis");
  if (call.rank(2) != 1 || !call.may_equal(call.shape(2)[0], 2))
    return invalid("values must be a vector of two elements");
  auto f = call.formula();
  const auto indices = f.input(0), values = f.input(2);
  Dims shape = indices.shape();
  shape.insert(shape.begin() + *axis, *depth);
  const auto p = f.axes(shape);
  std::vector<Index> at = to_indices(p);
  at.erase(at.begin() + *axis);
  // Floats are compared as they are: one that is no integer is nowhere.
  const ElementType type = is_float(call.type(0)) ? ElementType::Double : ElementType::Int64;
  const Expr i = cast(indices.at(at), type), zero = cast(integer(ElementType::Int64, 0), type);
  const Expr wrapped = where(apply(Fn::Less, {i, zero}), i + cast(index_number(Index(*depth)), type), i);
  const Expr position = cast(index_number(p[static_cast<std::size_t>(*axis)]), type);
  const Expr hit = apply(Fn::Equal, {position, wrapped});
  f.output(p, where(hit, values(1), values(0)));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kOneHot{
    .name = "OneHot",
    .doc = "y[p, d] = values[1] where d = indices[p], else values[0]",
    .define = define_one_hot,
    .since = 9,
    .least_inputs = 3,
    .most_inputs = 3,
};

}  // namespace isomer::ops
