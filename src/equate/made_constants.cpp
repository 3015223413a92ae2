#include "equate/made_constants.h"

#include <algorithm>
#include <map>
#include <set>

#include "kernel/prove/prove.h"
#include "model/graph/constant.h"

namespace isomer {
namespace {

bool is_made(const Graph& graph, const Inference& info, NodeId id) {
  const Node& node = graph.node(id);
  return node.kind == NodeKind::Operator && node.outputs.size() == 1 && info.of({id, 0}).constant &&
         !known_constant(graph, {id, 0});
}

// The nodes that a value is computed by.
Graph program_of(const Graph& graph, Value value) {
  std::set<NodeId> needed{value.node};
  std::vector<NodeId> open{value.node};
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    for (const Value& v : graph.node(id).inputs)
      if (v.exists() && needed.insert(v.node).second) open.push_back(v.node);
  }
  Graph out;
  out.opsets = graph.opsets;
  std::map<NodeId, NodeId> moved;
  for (const NodeId id : graph.order()) {
    if (!needed.contains(id)) continue;
    Node node = graph.node(id);
    for (Value& v : node.inputs)
      if (v.exists()) v.node = moved.at(v.node);
    moved.emplace(id, out.add(std::move(node)));
  }
  out.add_output({moved.at(value.node), value.output});
  return out;
}

}  // namespace

std::vector<MadeConstant> made_constants(const Graph& graph, const Inference& info) {
  std::set<Value> last(graph.outputs().begin(), graph.outputs().end());
  for (const NodeId id : graph.order())
    if (!is_made(graph, info, id)) last.insert(graph.node(id).inputs.begin(), graph.node(id).inputs.end());
  std::vector<MadeConstant> out;
  for (const NodeId id : graph.order()) {
    const Value value{id, 0};
    if (!last.contains(value) || !is_made(graph, info, id)) continue;
    const Tensor& numbers = *info.of(value).constant;
    if (is_float(numbers.type()) && !kByValue.takes(numbers))
      out.push_back({value, program_of(graph, value)});
  }
  return out;
}

}  // namespace isomer
