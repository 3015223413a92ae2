// The same computation on several inputs as one, on all of them together.
#pragma once

#include "optimizer/facts/proposal.h"

namespace isomer {

Proposals propose_batch(const Graph& graph, const Inference& inference, const ProposeOptions& options = {});

}  // namespace isomer
