// Regions: a model in pieces that can be searched by themselves.
#pragma once

#include <string>
#include <vector>

#include "kernel/prove/step.h"

namespace isomer {

// The nodes between some values and others.
struct RegionPlace {
  std::vector<std::string> inputs, outputs;
  Graph graph;
};

// Nodes in their order, cut where the fewest values cross: at a dominator, if there is one. A node counts if
// it is no constant and no Identity; what has no formula belongs to no region. Shifted: the first region is
// half as long, so that what lay on a border lies inside.
std::vector<RegionPlace> partition(const Workpiece& piece, int most_nodes, bool shifted);

}  // namespace isomer
