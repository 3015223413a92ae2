// The positions at which two programs of one output each may differ: the set that the prover's algebra leaves
// open (NormalForms::unproved_positions), and margins of the output's axes that contain all of it.
//
// Corrections are made elsewhere (optimizer/propose/positions/partial/partial.cpp). Nothing here is trusted.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/graph/graph.h"

namespace isomer {

// The first and the last positions along an axis.
struct Margin {
  std::size_t axis = 0;
  std::int64_t begin = 0, end = 0;
};

struct WrongPositions {
  std::string set;  // as isl writes it, with named sizes
  bool is_empty = false;
  // Each inside the rest of the ones before it: rows at the border, then columns of the other rows. The rest
  // of all of them is right.
  std::vector<Margin> margins = {};
};

// Complete programs: declared inputs, constants with their values. Error: why the positions are unknown, or
// that they are no margins.
Result<WrongPositions> wrong_positions(const Graph& right, const Graph& mutant);

}  // namespace isomer
