// A constant that somebody folded: is it, but for rounding, what a program over other constants computes?
//
// The program is evaluated in float64, but for what jumps or is cast to a narrower float (last_digits.h). A
// stored element may be off by n · u of itself, n operations on the way to it (64 at most), u half a unit in
// the last place. Where larger terms have cancelled in it, it may be off by more: by what a change of n · u
// in the other model's constants makes of it. That is a property of the function that the program computes:
// however the certificate writes it, (w + b) - b leaves the digits of w alone. It is found by evaluating the
// program again with such constants, in a few directions, and is never overestimated by it. What float64
// itself may be off by has to be within the same bound (float_error.h).
//
// Of a constant that is only moved, nothing is computed. Two models may have folded it from the same source,
// each with roundings of its own, and lost the source: an element that differs in its own last digits only is
// *restated*. So zeros, signs and what is not finite are the same.
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
