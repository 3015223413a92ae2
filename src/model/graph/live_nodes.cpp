#include "model/graph/live_nodes.h"

#include <ranges>

namespace isomer {

std::unordered_set<NodeId> live_nodes(const Graph& graph) {
  std::unordered_set<NodeId> live;
  for (const Value& output : graph.outputs()) live.insert(output.node);
  for (const NodeId id : std::views::reverse(graph.order())) {
    if (!live.contains(id)) continue;
    for (const auto* values : {&graph.node(id).inputs, &graph.node(id).captures})
      for (const Value& value : *values) live.insert(value.node);
  }
  return live;
}

}  // namespace isomer
