// Only the positions that anyone reads are computed: slices, gathers and strides through all that is before
// them.
#pragma once

#include "optimizer/facts/proposal.h"

namespace isomer {

Proposals propose_needed(const Graph& graph, const Inference& inference, const ProposeOptions& options = {});

}  // namespace isomer
