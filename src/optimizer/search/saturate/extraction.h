// Extraction: one node for each needed class, so that the resulting program is the cheapest. A value that is
// read twice costs once; so the cheapest node of each class is not enough, and the choice is an integer
// program (Yang et al., Tensat, 2021). Without a solver the choice is the cheapest as a tree, and says so.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "optimizer/search/saturate/e_graph.h"

namespace isomer {

struct Extraction {
  std::map<EGraph::Class, EGraph::NodeNumber> chosen = {};  // for what the roots need, and for nothing else
  double price = 0;                                         // of all of them, each once
  bool is_exact = false;                                    // no other choice is cheaper
};

// The cheapest as a tree. `with`: among those that have this node. nullopt: there is none without a circle.
std::optional<Extraction> extract_greedy(const EGraph& graph, const std::vector<EGraph::Class>& roots,
                                         std::optional<EGraph::NodeNumber> with = std::nullopt);

// The cheapest of all; sets of nodes in `without` are not chosen together. nullopt: there is no solver, or
// the problem is beyond its bounds. `seconds`: after which it gives up.
std::optional<Extraction> extract_exact(const EGraph& graph, const std::vector<EGraph::Class>& roots,
                                        const std::vector<std::set<EGraph::NodeNumber>>& without,
                                        double seconds);

}  // namespace isomer
