// Decides whether a folded constant is, except for rounding, the value of a program over other constants.
//
// The program is evaluated in float64, except for nodes that jump or cast to a narrower float
// (last_digits.h). A stored element may differ by n · u of itself, with n operations before it (at most 64)
// and u half a unit in the last place. Where larger terms have cancelled in it, it may differ by more: by the
// effect of a change of n · u in the other model's constants. That is a property of the function that the
// program computes: however the certificate writes it, (w + b) - b does not change the digits of w. It is
// found by evaluating the program again with such constants, in a few directions, and is never overestimated.
// The error of float64 itself must be within the same bound (float_error.h).
//
// For a constant that is only moved, nothing is computed. Two models may have folded it from the same source,
// each with its own roundings, and lost the source: an element that differs only in its own last digits is
// *restated*. So zeros, signs and non-finite numbers are the same.
#pragma once

#include <set>

#include "base/result.h"
#include "model/graph/graph.h"

namespace isomer {

struct Rounding {
  bool is_exact = false;     // the program only moves numbers, and the stored ones are the same
  bool is_restated = false;  // it only moves numbers, and these differ in their last digits
  // An element is nearly 0 because larger terms cancelled in it: most of its own digits may be wrong.
  bool has_cancelled = false;
  // An element is only right because the other model's constants have last digits: a proof that uses this has
  // to take them for symbols, or else their numbers can be made to cancel.
  bool leans_on_symbols = false;
  double worst_ulp = 0;  // of an element, in units of its own last place
};

// The program has one output, no inputs, and formulas throughout. `symbols`: its constants that are the other
// model's, and that a proof takes for symbols. Error: where it is another number, or why there is none.
Result<Rounding> compare_folded(const Tensor& stored, const Graph& program,
                                const std::set<NodeId>& symbols = {});

}  // namespace isomer
