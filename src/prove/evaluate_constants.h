// A program over constants, computed ahead of the runtime: node by node, by the formulas, in float64. What
// jumps or becomes a narrower float is what the arithmetic of the stored types makes of it, and there is no
// number where runtimes need not agree on the digits that decide (last_digits.h).
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace isomer {

struct EvaluatedConstant {
  Tensor value;                            // floats as float64
  Tensor magnitude;                        // the same formulas without cancellation: Σ|terms|
  double operations = 0;                   // that led to an element
  std::optional<Tensor> stored = {};       // in the stored types, where that is followed, too
  bool is_exact = true, is_agreed = true;  // nothing was rounded; all runtimes round it to the same number
};

struct EvaluatedProgram {
  std::vector<EvaluatedConstant> outputs;
  bool only_moves = true;  // it computes nothing
};

// Without magnitudes, which cost as much again, they are the values. Error: an input, a node without a
// formula, or digits that nobody may rely on.
Result<EvaluatedProgram> evaluate_constants(const Graph& program, bool with_magnitudes);

}  // namespace isomer
