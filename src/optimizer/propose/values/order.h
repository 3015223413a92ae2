// Functions that keep the order of numbers, and values whose range is known.
//
// The largest of f(x) is f of the largest x, for f that never falls: f is computed of fewer elements. Who
// only compares elements of f(x) may compare x, for f that rises. What only cuts off numbers that are never
// there is left out.
#pragma once

#include "optimizer/facts/proposal.h"

namespace isomer {

Proposals propose_order(const Graph& graph, const Inference& inference, const ProposeOptions& options = {});

}  // namespace isomer
