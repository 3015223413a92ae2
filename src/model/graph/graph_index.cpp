#include "model/graph/graph_index.h"

#include <algorithm>

namespace isomer {

GraphIndex::GraphIndex(const Graph& graph) : readers_(graph.consumers()) {
  outputs_.insert(graph.outputs().begin(), graph.outputs().end());
  for (const NodeId id : graph.order()) {
    positions_.emplace(id, positions_.size());
    const Node& node = graph.node(id);
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k)
      if (!node.outputs[k].empty()) names_.emplace(node.outputs[k], Value{id, k});
  }
}

const std::vector<NodeId>& GraphIndex::readers(Value v) const {
  static const std::vector<NodeId> none;
  const auto at = readers_.find(v);
  return at == readers_.end() ? none : at->second;
}

std::optional<NodeId> GraphIndex::only_reader(Value v) const {
  const auto& all = readers(v);
  if (all.size() != 1 || is_output(v)) return std::nullopt;
  return all[0];
}

std::optional<Value> GraphIndex::find(const std::string& name) const {
  const auto at = names_.find(name);
  return at == names_.end() ? std::nullopt : std::optional(at->second);
}

std::set<NodeId> constant_nodes(const Graph& graph, const std::function<bool(NodeId)>& may_be) {
  std::set<NodeId> out;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::Input && may_be(id) &&
        std::ranges::all_of(node.inputs, [&](Value v) { return !v.exists() || out.contains(v.node); }))
      out.insert(id);
  }
  return out;
}

}  // namespace isomer
