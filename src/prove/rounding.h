// A constant that somebody folded: is it, but for rounding, what a program over other constants computes?
//
// The program is evaluated in float64, but for what jumps or is cast to a narrower float (last_digits.h). The
// stored elements may be off by what evaluating it in the stored type explains: n · u · Σ|terms|, n
// operations on the way to an element (64 at most), u half a unit in the last place, and the terms of each
// sum taken without their signs (the same formulas, evaluated without cancellation).
//
// Of a constant that is only moved, nothing is computed. Two models may have folded it from the same source,
// each with roundings of its own, and lost the source: an element that differs in its own last digits only is
// *restated*. So zeros, signs and what is not finite are the same.
#pragma once

#include "base/result.h"
#include "graph/graph.h"

namespace isomer {

struct Rounding {
  bool is_exact = false;     // the program only moves numbers, and the stored ones are the same
  bool is_restated = false;  // it only moves numbers, and these differ in their last digits
  // An element is nearly 0 because larger terms cancelled in it: most of its own digits may be wrong.
  bool has_cancelled = false;
  double worst_ulp = 0;  // of an element, in units of its own last place
};

// The program has one output, no inputs, and formulas throughout. Error: where it is another number, or why
// there is none.
Result<Rounding> compare_folded(const Tensor& stored, const Graph& program);

}  // namespace isomer
