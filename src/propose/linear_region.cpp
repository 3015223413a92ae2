#include "propose/linear_region.h"

#include <algorithm>

#include "graph/constant.h"

namespace isomer {
namespace {

// Sums of activations; with any other operator two activations are not jointly linear.
bool adds(const Node& node) {
  return node.domain.empty() && (node.op == "Add" || node.op == "Sub" || node.op == "Sum" ||
                                 node.op == "Concat" || node.op == "Mean");
}

struct Role {
  bool linear = false, affine = false;
};

Role role_of(const Graph& graph, const Inference& inference, const std::set<Value>& constants, NodeId id) {
  const Node& node = graph.node(id);
  if (node.kind != NodeKind::Operator || node.outputs.size() != 1 || !node.captures.empty()) return {};
  if (inference.opaque.contains(id)) return {};
  const Definition definition = define_node(graph, inference, id);
  const auto* formula = std::get_if<Formula>(&definition);
  if (formula == nullptr || !is_float(formula->output(0).type)) return {};
  Role role{.linear = true, .affine = false};
  int activations = 0;
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    const Value v = node.inputs[k];
    if (!v.exists() || constants.contains(v)) continue;
    if (k >= formula->inputs.size() || !formula->inputs[k]) return {};
    const Linearity l = linearity(*formula, 0, static_cast<int>(k));
    if (l == Linearity::Independent) continue;
    if (l == Linearity::Nonlinear) return {};
    role.affine = role.affine || l == Linearity::Affine;
    ++activations;
  }
  if (activations == 0 || (activations > 1 && !adds(node))) return {};
  if (activations > 1) {
    // Affine in each, as long as the others are there; constants come in only by constants.
    role.affine =
        std::ranges::any_of(node.inputs, [&](Value v) { return v.exists() && constants.contains(v); });
  }
  return role;
}

}  // namespace

std::set<Value> constant_values(const Graph& graph) {
  std::set<Value> out;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.kind == NodeKind::Input || !node.captures.empty()) continue;
    bool constant = known_constant(graph, {id, 0}).has_value();
    if (!constant && node.kind == NodeKind::Operator && !node.inputs.empty())
      constant = std::ranges::all_of(node.inputs, [&](Value v) { return !v.exists() || out.contains(v); });
    if (constant)
      for (std::uint32_t k = 0; k < node.outputs.size(); ++k) out.insert({id, k});
  }
  return out;
}

std::optional<LinearRegion> linear_region(const Graph& graph, const Inference& inference,
                                          const std::set<Value>& constants,
                                          const std::map<Value, std::vector<NodeId>>& consumers,
                                          Value output) {
  std::set<NodeId> inside;
  LinearRegion out{.nodes = {}, .input = Value::none(), .output = output, .affine = false};
  const auto try_add = [&](NodeId id) {
    const Role role = role_of(graph, inference, constants, id);
    if (!role.linear) return false;
    inside.insert(id);
    out.affine = out.affine || role.affine;
    return true;
  };
  if (!try_add(output.node)) return std::nullopt;
  // Against the order of the graph: all readers of a value come before it.
  for (auto at = graph.order().rbegin(); at != graph.order().rend(); ++at) {
    if (inside.contains(*at)) continue;
    const Value v{*at, 0};
    const auto readers = consumers.find(v);
    if (readers == consumers.end() || readers->second.empty()) continue;
    const bool is_inner =
        std::ranges::all_of(readers->second, [&](NodeId r) { return inside.contains(r); }) &&
        std::ranges::find(graph.outputs(), v) == graph.outputs().end();
    if (is_inner && !constants.contains(v)) try_add(*at);
  }
  std::set<Value> frontier;
  for (const NodeId id : graph.order()) {
    if (!inside.contains(id)) continue;
    out.nodes.push_back(id);
    for (const Value& v : graph.node(id).inputs)
      if (v.exists() && !constants.contains(v) && !inside.contains(v.node)) frontier.insert(v);
  }
  if (frontier.size() != 1 || out.nodes.size() < 2) return std::nullopt;
  out.input = *frontier.begin();
  return out;
}

std::optional<Box> needed_input(const Graph& graph, const Inference& inference, const LinearRegion& region,
                                const Extents& position) {
  std::map<Value, Box> needed;
  Box start{position, position};
  for (std::int64_t& h : start.high) ++h;
  needed.emplace(region.output, start);
  for (auto at = region.nodes.rbegin(); at != region.nodes.rend(); ++at) {
    const auto box = needed.find(Value{*at, 0});
    if (box == needed.end()) continue;
    const Definition definition = define_node(graph, inference, *at);
    const auto* formula = std::get_if<Formula>(&definition);
    if (formula == nullptr || !concrete(formula->output(0).shape())) return std::nullopt;
    const auto boxes = needed_regions(*formula, 0, box->second);
    const Node& node = graph.node(*at);
    for (std::size_t k = 0; k < boxes.size() && k < node.inputs.size(); ++k) {
      if (!boxes[k] || !node.inputs[k].exists()) continue;
      const auto [known, is_new] = needed.try_emplace(node.inputs[k], *boxes[k]);
      if (is_new) continue;
      for (std::size_t d = 0; d < known->second.low.size(); ++d) {
        known->second.low[d] = std::min(known->second.low[d], boxes[k]->low[d]);
        known->second.high[d] = std::max(known->second.high[d], boxes[k]->high[d]);
      }
    }
  }
  const auto found = needed.find(region.input);
  if (found == needed.end()) return std::nullopt;
  return found->second;
}

}  // namespace isomer
