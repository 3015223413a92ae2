// Shared by the ten Reduce operators: the axes they reduce, as attribute or input of their opset, and their
// definition.
#pragma once

#include "model/ops/shared/reduced_axes.h"

namespace isomer {

// The reduction of each(x) over the axes, then finish(total, count).
struct Fold {
  Reduction reduction = Reduction::Sum;
  Expr (*each)(const Expr& x) = nullptr;                           // nullptr: x itself
  Expr (*finish)(const Expr& total, const Expr& count) = nullptr;  // nullptr: the total itself
  TypeTest accepts = is_number;
  int axes_input_since = 18;  // the opset from which the axes are an input
  bool of_nothing = true;     // whether it has a value over an empty set of elements
};
Definition define_reduce(const Call& call, const Fold& fold);

// The reduced axes of a call of a Reduce operator. Throws IllegalCall or OpaqueCall.
ReducedAxes read_reduced_axes(const Call& call, const Fold& fold);

// Output axes and, for them, the position in the result that keeps the rank.
struct Reduced {
  std::vector<Axis> axes;
  std::vector<Index> position;
  Reduced(FormulaBuilder& f, const ReducedAxes& over, bool keep);
};

}  // namespace isomer
