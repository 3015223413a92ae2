// Nodes of a graph again, in a claim's program.
#pragma once

#include <map>
#include <vector>

#include "rewrite/site.h"

namespace isomer {

// In this order, each of one output, on what was made in the place of what it reads; `made` gets their
// results.
inline void copy_nodes(ProgramBuilder& b, const Site& site, const std::vector<NodeId>& nodes,
                       std::map<Value, Value>& made) {
  for (const NodeId id : nodes) {
    std::vector<Value> inputs;
    for (const Value& v : site.node(id).inputs) inputs.push_back(b.made_or_input(site.graph, v, made));
    made.emplace(Value{id, 0}, b.copy(site.node(id), inputs));
  }
}

}  // namespace isomer
