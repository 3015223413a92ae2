// Whether a node is more than a function of its inputs.
#pragma once

#include <cstdint>

#include "model/graph/graph.h"

namespace isomer {

enum class Purity : std::uint8_t {
  Function,  // equal inputs, equal outputs
  Random,    // each occurrence, and each run, has outputs of its own; dropping it is harmless
  Unknown,   // custom operators, local functions, subgraphs: may be random, keep state or have effects
};

Purity purity(const Graph& graph, const Node& node);

}  // namespace isomer
