#include "optimizer/plans/places.h"

#include <algorithm>

#include "model/graph/constant.h"
#include "model/graph/content.h"
#include "model/graph/purity.h"
#include "optimizer/plans/colours.h"

namespace isomer {
namespace {

// Which value of a model each value of a region would be.
class Binding {
 public:
  Binding(const KnownRegion& region, const Graph& model) : region_(&region), model_(&model) {}

  // Whether the region's value can be the model's, with all that it is computed from.
  bool bind(Value region_value, Value model_value) {
    std::vector<std::pair<Value, Value>> open{{region_value, model_value}};
    while (!open.empty()) {
      const auto [a, b] = open.back();
      open.pop_back();
      if (a.exists() != b.exists()) return false;
      if (!a.exists()) continue;
      const Node& node = region_->graph.node(a.node);
      if (const auto at = bound_.find(a); at != bound_.end()) {
        if (at->second == b) continue;
        return false;
      }
      if (node.kind != NodeKind::Operator) {
        if (!is_like(node, b)) return false;
        bound_.emplace(a, b);
        continue;
      }
      const Node& other = model_->node(b.node);
      if (a.output != b.output || !is_same_call(node, other)) return false;
      for (std::uint32_t k = 0; k < node.outputs.size(); ++k)
        bound_.emplace(Value{a.node, k}, Value{b.node, k});
      for (std::size_t k = 0; k < node.inputs.size(); ++k) open.emplace_back(node.inputs[k], other.inputs[k]);
    }
    return true;
  }
  const std::map<Value, Value>& bound() const { return bound_; }

 private:
  // An input of the region: a constant, or any value.
  bool is_like(const Node& node, Value b) const {
    const auto constant = known_constant(*model_, b);
    if (node.kind == NodeKind::Initializer) return constant && constant->same_bits(node.tensor);
    const bool is_large = region_->constants.contains(node.outputs[0]);
    if (!is_large) return !constant;
    return constant && is_symbol(*constant) && constant->type() == node.declared.type;
  }
  bool is_same_call(const Node& a, const Node& b) const {
    return b.kind == NodeKind::Operator && a.op == b.op && a.domain == b.domain && a.overload == b.overload &&
           region_->graph.opset(a.domain) == model_->opset(b.domain) && b.bodies.empty() &&
           b.captures.empty() && a.inputs.size() == b.inputs.size() && a.outputs.size() == b.outputs.size() &&
           same_content(a.attributes, b.attributes);
  }
  const KnownRegion* region_;
  const Graph* model_;
  std::map<Value, Value> bound_;
};

// Operators of the region that are not bound yet and read a bound value: they are matched among the readers
// of that value in the model. False: one of them has no match.
bool bind_others(const KnownRegion& region, const Graph& model, const GraphIndex& index, Binding& binding) {
  for (const NodeId id : region.graph.order()) {
    const Node& node = region.graph.node(id);
    if (node.kind != NodeKind::Operator || binding.bound().contains({id, 0})) continue;
    bool is_found = false;
    for (std::size_t k = 0; k < node.inputs.size() && !is_found; ++k) {
      const auto at = node.inputs[k].exists() ? binding.bound().find(node.inputs[k]) : binding.bound().end();
      if (at == binding.bound().end() || known_constant(model, at->second)) continue;
      for (const NodeId reader : index.readers(at->second)) {
        const auto is_taken = std::ranges::any_of(
            binding.bound(), [&](const auto& b) { return b.second.node == reader && b.second.output == 0; });
        if (is_taken) continue;
        Binding trial = binding;
        if (!trial.bind({id, 0}, {reader, 0})) continue;
        binding = trial;
        is_found = true;
        break;
      }
    }
    if (!is_found) return false;
  }
  return true;
}

// Whether a node outside reads a value that is internal to the region.
bool is_read_outside(const Graph& model, const GraphIndex& index, const std::set<NodeId>& inside,
                     const std::set<Value>& outputs) {
  for (const NodeId id : inside)
    for (std::uint32_t k = 0; k < model.node(id).outputs.size(); ++k) {
      const Value v{id, k};
      if (outputs.contains(v)) continue;
      if (index.is_output(v)) return true;
      if (std::ranges::any_of(index.readers(v), [&](NodeId r) { return !inside.contains(r); })) return true;
    }
  return false;
}

}  // namespace

std::set<NodeId> constant_operators(const Graph& graph) {
  std::set<NodeId> out;
  const auto nodes = constant_nodes(graph, [&](NodeId id) {
    const Node& node = graph.node(id);
    return node.kind == NodeKind::Operator ? node.bodies.empty() && purity(graph, node) == Purity::Function
                                           : known_constant(graph, {id, 0}).has_value();
  });
  for (const NodeId id : nodes)
    if (graph.node(id).kind == NodeKind::Operator) out.insert(id);
  return out;
}

std::string anchor_of(const Graph& graph, const Inference& inference, NodeId id) {
  const Node& node = graph.node(id);
  Hasher hasher;
  add_call(hasher, graph, node);
  for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
    const ValueInfo& info = inference.of({id, k});
    hasher.add(static_cast<int>(info.type));
    if (!info.shape) continue;
    for (const Dim& d : *info.shape) hasher.add(d.value().value_or(-1));
  }
  return hasher.digest().hex().substr(0, 16);
}

PlaceFinder::PlaceFinder(const Workpiece& piece)
    : piece_(piece), index_(piece.graph()), folded_(constant_operators(piece.graph())) {
  for (const NodeId id : piece.graph().order())
    if (piece.graph().node(id).kind == NodeKind::Operator && !is_constant_node(piece.graph().node(id)))
      by_anchor_[anchor_of(piece.graph(), piece.inference(), id)].push_back(id);
}

std::set<std::string> PlaceFinder::anchors() const {
  std::set<std::string> out;
  for (const auto& [anchor, nodes] : by_anchor_) out.insert(anchor);
  return out;
}

std::optional<PlanPlace> PlaceFinder::place_at(NodeId root, const KnownRegion& region,
                                               const std::string& key) const {
  const Graph& model = piece_.graph();
  Binding binding(region, model);
  const Value first = region.graph.outputs()[0];
  if (!binding.bind(first, {root, first.output}) || !bind_others(region, model, index_, binding))
    return std::nullopt;
  PlanPlace out;
  std::set<NodeId> inside;
  std::set<Value> outputs;
  for (const auto& [a, b] : binding.bound()) {
    const std::string &from = region.graph.name_of(a), &to = model.name_of(b);
    if (!from.empty()) out.names.emplace(from, to);
    const Node& node = region.graph.node(a.node);
    if (node.kind == NodeKind::Operator && !folded_.contains(b.node)) {
      inside.insert(b.node);
      if (!to.empty()) out.replaced.insert(to);
    }
  }
  for (const Value& v : region.graph.inputs()) {
    const auto at = binding.bound().find(v);
    if (at == binding.bound().end()) return std::nullopt;
    if (!region.constants.contains(region.graph.name_of(v))) out.inputs.push_back(model.name_of(at->second));
  }
  for (const Value& v : region.graph.outputs()) {
    outputs.insert(binding.bound().at(v));
    out.outputs.push_back(model.name_of(binding.bound().at(v)));
  }
  if (is_read_outside(model, index_, inside, outputs)) return std::nullopt;
  const auto found = piece_.region(out.inputs, out.outputs);
  if (!found.ok()) return std::nullopt;
  const auto known = known_region(*found);
  if (!known.ok() || key_of(known->region) != key) return std::nullopt;
  return out;
}

std::vector<PlanPlace> PlaceFinder::places(const std::string& anchor, const KnownRegion& region,
                                           const std::string& key) {
  std::vector<PlanPlace> out;
  const auto at = by_anchor_.find(anchor);
  if (at == by_anchor_.end()) return out;
  std::set<std::string> taken;
  for (const NodeId root : at->second) {
    auto place = place_at(root, region, key);
    if (!place || std::ranges::any_of(place->replaced, [&](const auto& n) { return taken.contains(n); }))
      continue;
    taken.insert(place->replaced.begin(), place->replaced.end());
    out.push_back(std::move(*place));
  }
  return out;
}

}  // namespace isomer
