// A program over constants, computed ahead of the runtime: node by node, by the formulas, in float64, with a
// bound of the error. Nodes that jump or narrow a float are computed in the arithmetic of the stored types;
// there is no number where runtimes need not agree on the digits that decide (last_digits.h).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "base/result.h"
#include "model/graph/graph.h"

namespace isomer {

struct EvaluatedConstant {
  Tensor value;                            // floats as float64
  std::optional<Tensor> error = {};        // of each (float_error.h); none: they are exact
  double operations = 0;                   // that led to an element
  std::optional<Tensor> stored = {};       // in the stored types, where that is followed, too
  bool is_exact = true, is_agreed = true;  // nothing was rounded; all runtimes round it to the same number

  Tensor errors() const;
  // Whether float64 has lost no more than 2^-15 of any number: of (w + k) - k it may leave nothing.
  bool has_digits() const;
};

struct EvaluatedProgram {
  std::vector<EvaluatedConstant> outputs;
  bool only_moves = true;  // it computes nothing
};

// Constants with other last digits. Numbers with the same leading digits, a power of 2 apart, change by the
// same factor: their difference is exact in any float, so there is no rounding that it could stand for.
struct Nudge {
  std::set<NodeId> symbols = {};  // these are nudged
  std::uint64_t trial = 0;
  double step = 0;  // the largest relative change

  double of(double v) const;
};

// Error: an input, a node without a formula or without a bound of its errors, or digits that are unreliable.
Result<EvaluatedProgram> evaluate_constants(const Graph& program, const Nudge& nudge = {});

}  // namespace isomer
