// Folded constants that another machine has rounded differently.
//
// A fold is computed in float64 and rounded once. Two machines, or two math libraries, may differ in the last
// bit of that float64, and so, rarely, in the last bit of the stored number. Such a constant of OUT is
// accepted if it is the neighbour of the one computed here and no later node jumps.
#pragma once

#include <set>
#include <string>

#include "base/result.h"
#include "model/graph/graph.h"

namespace isomer {

struct LastBits {
  Graph graph;
  int constants = 0;  // that were taken from OUT
};

// The graph with OUT's last bits in those of its constants that are named here. Error: a jump behind one.
// A constant that differs by more stays as it is.
Result<LastBits> with_last_bits_of(const Graph& graph, const Graph& out, const std::set<std::string>& folded);

}  // namespace isomer
