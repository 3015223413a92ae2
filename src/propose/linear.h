#pragma once

#include "rewrite/proposal.h"

namespace isomer {

// What is a sum of products, by the cheapest products.
Proposals propose_linear(const Graph& graph, const Inference& inference, const ProposeOptions& options = {});

}  // namespace isomer
