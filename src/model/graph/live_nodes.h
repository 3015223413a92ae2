// The nodes that some graph output depends on.
#pragma once

#include <unordered_set>

#include "model/graph/graph.h"

namespace isomer {

std::unordered_set<NodeId> live_nodes(const Graph& graph);

}  // namespace isomer
