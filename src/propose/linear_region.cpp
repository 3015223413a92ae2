#include "propose/linear_region.h"

#include <algorithm>
#include <ranges>

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
  if (node.kind != NodeKind::Operator || !node.captures.empty()) return {};
  if (inference.opaque.contains(id)) return {};
  const Definition definition = define_node(graph, inference, id);
  const auto* formula = std::get_if<Formula>(&definition);
  if (formula == nullptr || node.outputs.size() != formula->outputs.size()) return {};
  const int outputs = static_cast<int>(formula->outputs.size());
  for (int k = 0; k < outputs; ++k)
    if (!is_float(formula->output(k).type)) return {};
  Role role{.linear = true, .affine = false};
  int activations = 0;
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    const Value v = node.inputs[k];
    if (!v.exists() || constants.contains(v)) continue;
    if (k >= formula->inputs.size() || !formula->inputs[k]) return {};
    bool is_read = false;
    for (int output = 0; output < outputs; ++output) {
      const Linearity l = linearity(*formula, output, static_cast<int>(k));
      if (l == Linearity::Nonlinear) return {};
      role.affine = role.affine || l == Linearity::Affine;
      is_read = is_read || l != Linearity::Independent;
    }
    if (is_read) ++activations;
  }
  if (activations == 0 || (activations > 1 && !adds(node))) return {};
  if (activations > 1) {
    // Affine in each, as long as the others are there; constants come in only by constants.
    role.affine =
        std::ranges::any_of(node.inputs, [&](Value v) { return v.exists() && constants.contains(v); });
  }
  return role;
}

void widen(std::map<Value, Box>& needed, Value value, const Box& box) {
  const auto [known, is_new] = needed.try_emplace(value, box);
  if (is_new) return;
  for (std::size_t d = 0; d < box.low.size(); ++d) {
    known->second.low[d] = std::min(known->second.low[d], box.low[d]);
    known->second.high[d] = std::max(known->second.high[d], box.high[d]);
  }
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
  if (graph.node(output.node).outputs.size() != 1 || !try_add(output.node)) return std::nullopt;
  // Against the order of the graph: all readers of a value come before it.
  for (auto at = graph.order().rbegin(); at != graph.order().rend(); ++at) {
    if (inside.contains(*at)) continue;
    bool is_inner = true, is_read = false;
    for (std::uint32_t k = 0; k < graph.node(*at).outputs.size(); ++k) {
      const Value v{*at, k};
      const auto readers = consumers.find(v);
      if (std::ranges::find(graph.outputs(), v) != graph.outputs().end()) is_inner = false;
      if (readers == consumers.end() || readers->second.empty()) continue;
      is_read = true;
      if (!std::ranges::all_of(readers->second, [&](NodeId r) { return inside.contains(r); }))
        is_inner = false;
    }
    if (is_inner && is_read && !constants.contains({*at, 0})) try_add(*at);
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
  for (const NodeId id : std::views::reverse(region.nodes)) {
    std::optional<Definition> definition;
    const Node& node = graph.node(id);
    for (std::uint32_t output = 0; output < node.outputs.size(); ++output) {
      const auto box = needed.find(Value{id, output});
      if (box == needed.end()) continue;
      if (!definition) definition = define_node(graph, inference, id);
      const auto* formula = std::get_if<Formula>(&*definition);
      const int number = static_cast<int>(output);
      if (formula == nullptr || !concrete(formula->output(number).shape())) return std::nullopt;
      const auto boxes = needed_regions(*formula, number, box->second);
      for (std::size_t k = 0; k < boxes.size() && k < node.inputs.size(); ++k)
        if (boxes[k] && node.inputs[k].exists()) widen(needed, node.inputs[k], *boxes[k]);
    }
  }
  const auto found = needed.find(region.input);
  if (found == needed.end()) return std::nullopt;
  return found->second;
}

}  // namespace isomer
