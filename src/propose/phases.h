// Phases: what is linear in a smaller image is, at every so many positions, a convolution of that image. The
// phases are computed apart, with all that follows and is the same at every position, and interleaved last.
#pragma once

#include "rewrite/site.h"

namespace isomer {

void propose_phases(const Site& site, Proposals& out);

// Nodes after a value in which these axes stay parallel and in place, in order.
std::vector<NodeId> parallel_after(const Site& site, Value value, const std::vector<int>& axes);
// Whether nothing outside of these nodes reads what they make, but for one value.
bool is_closed(const Site& site, const std::set<NodeId>& nodes, Value end);

}  // namespace isomer
