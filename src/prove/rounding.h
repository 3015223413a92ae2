// A constant that somebody folded: is it, but for rounding, what a program over other constants computes?
//
// The program is evaluated in float64. The stored elements may be off by what evaluating it in the stored
// type explains: n · u · Σ|terms|, n operations on the way to an element, u half a unit in the last place,
// and the terms of each sum taken without their signs (the same formulas, evaluated without cancellation).
#pragma once

#include "base/result.h"
#include "graph/graph.h"

namespace isomer {

struct Rounding {
  bool is_exact = false;  // the program only moves numbers, and these are they
  double worst_ulp = 0;   // in the stored type's units in the last place of Σ|terms|
};

// The program has one output, no inputs, and formulas throughout. Error: where it is another number, or why
// there is none.
Result<Rounding> compare_folded(const Tensor& stored, const Graph& program);

// Whether small changes of these inputs (one flag each) make small changes of the outputs, wherever it is
// defined.
bool is_continuous(const Formula& formula, const Node& node, const std::vector<bool>& changed);

}  // namespace isomer
