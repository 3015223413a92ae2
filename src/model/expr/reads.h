// Walks over the reads of an expression. Internal to the analyses.
#pragma once

#include <vector>

#include "model/expr/expr.h"

namespace isomer {

// Calls f on every read below an expression, with the axes of the reductions around it.
template <class F>
void for_each_read(const ExprNode& e, std::vector<Axis>& reduced, F&& f) {
  if (e.kind == ExprNode::Kind::Read) f(e, reduced);
  const std::size_t outer = reduced.size();
  if (e.kind == ExprNode::Kind::Reduce) reduced.insert(reduced.end(), e.axes.begin(), e.axes.end());
  for (const ExprNode::Case& c : e.cases) for_each_read(*c.value, reduced, f);
  for (const ExprRef& a : e.args) for_each_read(*a, reduced, f);
  reduced.resize(outer);
}

// Calls f on every index below an expression that is looked at otherwise than to read: conditions, and
// positions as numbers.
template <class F>
void for_each_position(const ExprNode& e, F&& f) {
  if (e.kind == ExprNode::Kind::IndexNumber) f(e.index);
  for (const Index& i : e.domain) f(i);
  for (const ExprNode::Case& c : e.cases) {
    for (const Index& i : c.when) f(i);
    for_each_position(*c.value, f);
  }
  for (const ExprRef& a : e.args) for_each_position(*a, f);
}

}  // namespace isomer
