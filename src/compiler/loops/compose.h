// Expressions changed: axes replaced, reads replaced, one nest written into another.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "compiler/loops/nest.h"
#include "model/expr/look_up.h"

namespace isomer::lower {

// Numbers for new axes of one plan.
class AxisNumbers {
 public:
  Axis make(const Dim& extent) { return {.id = next_++, .extent = extent}; }

 private:
  int next_ = 0;
};

using AxisMap = std::map<int, Index>;

// The expression with axes replaced as the map says; axes of its reductions are new ones.
Expr with_axes(const Expr& expr, const AxisMap& by, AxisNumbers& numbers);
Index with_axes(const Index& index, const AxisMap& by);
// The expression with the symbols of its numbers replaced. Its axes stay: reductions go over the same, of
// another extent.
Expr with_symbols(const Expr& expr, const Dim::Substitution& by);
// The axes of a nest, over its loops.
AxisMap over_loops(const Nest& nest);
// The expression with reads replaced; nullopt leaves a read as it is.
using ReadMap = std::function<std::optional<Expr>(const ExprNode& read)>;
Expr with_reads(const Expr& expr, const ReadMap& by);
// The same expression with one part of it replaced.
Expr with_part(const Expr& expr, const ExprRef& part, const Expr& by);

// The first reduction of an expression that is no look-up and stands inside of no other; null: none.
ExprRef main_reduction(const Expr& expr);
bool has_reduction(const Expr& expr);  // but look-ups

// The nest with its main reduction replaced, here and in its value.
void replace_reduction(Nest& nest, ExprNode by);
// The points of a nest at which an axis is low to high - 1, as a nest of their own.
Nest part_of(const Nest& nest, const Axis& axis, const Dim& low, const Dim& high, AxisNumbers& numbers);

// The interval that a conjunction over one axis leaves; nullopt if it has any other condition.
struct Interval {
  std::int64_t low = 0, high = 0;  // low <= axis < high
};
std::optional<std::pair<Axis, Interval>> as_interval(const Domain& domain);

}  // namespace isomer::lower
