// The values that cross a place in an order of nodes: made before it and read there or later.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "model/graph/graph_index.h"

namespace isomer {

// The range in which one value crosses, from first to last place.
struct Crossing {
  Value value;
  std::size_t first = 0, last = 0;
};

// `places`: of nodes in the order; what others make is there from its beginning. Constants cross nothing.
std::vector<Crossing> crossings(const GraphIndex& index, const std::map<NodeId, std::size_t>& places,
                                const std::set<NodeId>& constants);

}  // namespace isomer
