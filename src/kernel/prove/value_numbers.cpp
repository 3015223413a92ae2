#include "kernel/prove/value_numbers.h"

#include "model/graph/content.h"
#include "model/graph/purity.h"

namespace isomer {
namespace {

bool same_info(const ValueInfo& a, const ValueInfo& b) { return a.type == b.type && a.shape == b.shape; }

}  // namespace

std::set<NodeId> needed_nodes(const Graph& graph) {
  std::set<NodeId> out;
  std::vector<NodeId> open;
  for (const Value& v : graph.outputs()) open.push_back(v.node);
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (!out.insert(id).second) continue;
    for (const auto* values : {&graph.node(id).inputs, &graph.node(id).captures})
      for (const Value& v : *values)
        if (v.exists()) open.push_back(v.node);
  }
  return out;
}

bool ValueNumbers::is_same(const Entry& a, const Entry& b) const {
  const Node &x = a.graph->node(a.node), &y = b.graph->node(b.node);
  if (x.kind != y.kind || a.inputs != b.inputs || x.outputs.size() != y.outputs.size()) return false;
  const bool x_open = a.graph->is_overridable(a.node), y_open = b.graph->is_overridable(b.node);
  if (x_open != y_open) return false;
  if (x.kind == NodeKind::Input || x_open)
    return x.outputs[0] == y.outputs[0] &&
           same_info(a.inference->of({a.node, 0}), b.inference->of({b.node, 0}));
  if (x.kind == NodeKind::Initializer) return x.tensor.same_bits(y.tensor);
  for (std::size_t i = 0; i < x.outputs.size(); ++i)
    if (x.outputs[i].empty() != y.outputs[i].empty()) return false;
  return x.op == y.op && x.domain == y.domain && x.overload == y.overload &&
         a.graph->opset(x.domain) == b.graph->opset(y.domain) && same_content(x.attributes, y.attributes) &&
         x.captures.empty() && y.captures.empty() && purity(*a.graph, x) == Purity::Function &&
         purity(*b.graph, y) == Purity::Function;
}

void ValueNumbers::add(const Graph& graph, const Inference& inference) {
  ++graphs_;
  const std::set<NodeId> needed = needed_nodes(graph);
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    Entry entry{.graph = &graph, .inference = &inference, .node = id, .inputs = {}, .number = -1};
    Hasher hasher;
    hasher.add(static_cast<int>(node.kind)).add(node.op).add(node.domain);
    if (node.kind == NodeKind::Input || graph.is_overridable(id)) hasher.add(node.outputs[0]);
    else if (node.kind == NodeKind::Initializer) add_content(hasher, node.tensor, ContentDigests::Full);
    for (const Value& v : node.inputs) {
      entry.inputs.emplace_back(v.exists() ? of(graph, v.node) : -1, v.output);
      hasher.add(entry.inputs.back().first).add(static_cast<int>(v.output));
    }
    std::vector<Entry>& bucket = entries_[hasher.digest()];
    for (const Entry& known : bucket)
      if (entry.number < 0 && is_same(known, entry)) entry.number = known.number;
    if (entry.number < 0) {
      entry.number = static_cast<int>(seen_in_.size());
      seen_in_.push_back(0);
      last_seen_.push_back(0);
      bucket.push_back(entry);
    }
    if (const auto at = static_cast<std::size_t>(entry.number);
        needed.contains(id) && last_seen_[at] != graphs_) {
      ++seen_in_[at];
      last_seen_[at] = graphs_;
    }
    numbers_.emplace(std::pair(&graph, id), entry.number);
  }
}

}  // namespace isomer
