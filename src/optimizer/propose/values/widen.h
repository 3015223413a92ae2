// Nodes of 16-bit floats that compute in float32, from border to border: runtimes lose fusions in 16 bits. A
// bet on the runtime, and the first thing that is done to a graph: what others find then, and fold, rounds as
// float32 does. In 16 bits a batch normalization that goes into weights costs more digits than it is worth.
#pragma once

#include "optimizer/facts/proposal.h"

namespace isomer {

Proposals propose_widen(const Graph& graph, const Inference& inference, const ProposeOptions& options = {});

}  // namespace isomer
