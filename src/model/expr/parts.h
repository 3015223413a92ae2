// Walks over all parts of an expression: itself, arguments, values of cases, bodies of reductions.
#pragma once

#include <algorithm>

#include "model/expr/formula.h"

namespace isomer {

template <class F>
bool any_direct_part(const ExprNode& e, const F& holds) {
  return std::ranges::any_of(e.args, [&](const ExprRef& a) { return holds(*a); }) ||
         std::ranges::any_of(e.cases, [&](const ExprNode::Case& c) { return holds(*c.value); });
}

// Whether it holds of the expression or of any part of it.
template <class F>
bool any_part(const ExprNode& e, const F& holds) {
  return holds(e) || any_direct_part(e, [&](const ExprNode& part) { return any_part(part, holds); });
}

// Whether any stage sums, or takes the largest, of several.
inline bool has_reductions(const Formula& formula) {
  const auto reduces = [](const ExprNode& e) { return e.kind == ExprNode::Kind::Reduce; };
  return std::ranges::any_of(formula.stages, [&](const Stage& s) { return any_part(*s.value, reduces); });
}

}  // namespace isomer
