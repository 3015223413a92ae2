// The uses of an input's values, through operators that only move them.
#pragma once

#include <algorithm>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "model/graph/graph.h"

namespace isomer {

// Visits each node that reads the value itself, or what one of the carriers makes of it, with what it reads.
// Carriers: operators of ONNX whose output holds values of their first input, and no others.
template <class Visit>
void visit_readers(const Graph& graph, Value from, std::span<const std::string_view> carriers,
                   const Visit& visit) {
  const auto consumers = graph.consumers();
  std::set<Value> seen{from};
  for (std::vector<Value> open{from}; !open.empty();) {
    const Value value = open.back();
    open.pop_back();
    const auto readers = consumers.find(value);
    if (readers == consumers.end()) continue;
    for (const NodeId id : readers->second) {
      const Node& node = graph.node(id);
      visit(node, value);
      const bool carries = node.domain.empty() && std::ranges::count(carriers, node.op) > 0 &&
                           !node.inputs.empty() && node.inputs[0] == value;
      if (carries && seen.insert({id, 0}).second) open.push_back({id, 0});
    }
  }
}

}  // namespace isomer
