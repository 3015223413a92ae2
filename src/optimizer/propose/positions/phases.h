// Phases: an enlarged image that is convolved is, at every second (third ...) position, a convolution of the
// small image. These phases are computed apart, with the nodes that follow, as far as those do the same at
// every position, and are interleaved last.
#pragma once

#include "optimizer/facts/site.h"

namespace isomer {

void propose_phases(const Site& site, Proposals& out);

// Nodes after a value in which these axes stay parallel and in place, in order.
std::vector<NodeId> parallel_after(const Site& site, Value value, const std::vector<int>& axes);
// Whether nothing outside of these nodes reads what they make, but for one value.
bool is_closed(const Site& site, const std::set<NodeId>& nodes, Value end);

}  // namespace isomer
