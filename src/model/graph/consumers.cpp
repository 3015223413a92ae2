#include "model/graph/graph.h"

namespace isomer {

std::map<Value, std::vector<NodeId>> Graph::consumers() const {
  std::map<Value, std::vector<NodeId>> readers;
  for (const NodeId id : order()) {
    const Node& reader = node(id);
    for (const auto* values : {&reader.inputs, &reader.captures}) {
      for (const Value& value : *values) {
        if (!value.exists()) continue;
        auto& ids = readers[value];
        if (ids.empty() || ids.back() != id) ids.push_back(id);
      }
    }
  }
  return readers;
}

}  // namespace isomer
