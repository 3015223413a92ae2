#include "model/graph/names.h"

namespace isomer {

ValuesByName values_by_name(const Graph& graph) {
  ValuesByName out;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k)
      if (!node.outputs[k].empty()) out.emplace(node.outputs[k], Value{id, k});
  }
  return out;
}

std::vector<std::string> names_of(const Graph& graph, const std::vector<Value>& values) {
  std::vector<std::string> out;
  out.reserve(values.size());
  for (const Value& v : values) out.push_back(v.exists() ? graph.name_of(v) : "");
  return out;
}

}  // namespace isomer
