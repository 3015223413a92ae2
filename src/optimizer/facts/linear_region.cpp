#include "optimizer/facts/linear_region.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <ranges>

#include "model/graph/constant.h"
#include "model/graph/dequantized.h"

namespace isomer {
namespace {

constexpr std::size_t kMostRegionNodes = 256;  // a recurrence of a few dozen steps, unrolled

void widen(std::map<Value, Box>& needed, Value value, const Box& box) {
  const auto [known, is_new] = needed.try_emplace(value, box);
  if (is_new) return;
  for (std::size_t d = 0; d < box.low.size(); ++d) {
    known->second.low[d] = std::min(known->second.low[d], box.low[d]);
    known->second.high[d] = std::max(known->second.high[d], box.high[d]);
  }
}

}  // namespace

bool adds(const Node& node) {
  return node.domain.empty() &&
         (node.op == "Add" || node.op == "Sub" || node.op == "Sum" || node.op == "Mean");
}

std::set<Value> constant_values(const Graph& graph) {
  std::set<Value> out;
  const auto may_be = [&](NodeId id) {
    const Node& node = graph.node(id);
    if (!node.captures.empty()) return false;
    return known_constant(graph, {id, 0}).has_value() ||
           (node.kind == NodeKind::Operator && !node.inputs.empty() && !is_dequantization(node));
  };
  for (const NodeId id : constant_nodes(graph, may_be))
    for (std::uint32_t k = 0; k < graph.node(id).outputs.size(); ++k) out.insert({id, k});
  return out;
}

LinearRegions::LinearRegions(const Graph& graph, const Inference& inference)
    : graph_(graph), index_(graph), constants_(constant_values(graph)) {
  for (const NodeId id : graph.order())
    if (!constants_.contains({id, 0})) roles_.emplace(id, role_of(inference, id));
}

// A weight of 8 bits or fewer. Merging would make it floats: at least twice as large, and without the
// runtime's integer kernels.
bool LinearRegions::is_stored_in_few_bits(Value v, const Inference& inference) const {
  constexpr std::int64_t kMostElements = 64;  // of a shape, a table
  const ValueInfo& info = inference.of(v);
  if (!constants_.contains(v) || !is_integer(info.type) || bits(info.type) > 8) return false;
  const auto extents = concrete_shape(info);
  return extents && std::accumulate(extents->begin(), extents->end(), std::int64_t{1}, std::multiplies()) >
                        kMostElements;
}

LinearRegions::Role LinearRegions::role_of(const Inference& inference, NodeId id) const {
  const Node& node = graph_.node(id);
  if (node.kind != NodeKind::Operator || !node.captures.empty()) return {};
  if (inference.opaque.contains(id)) return {};
  const Definition definition = define_node(graph_, inference, id);
  const auto* formula = std::get_if<Formula>(&definition);
  if (formula == nullptr || node.outputs.size() != formula->outputs.size()) return {};
  const int outputs = static_cast<int>(formula->outputs.size());
  for (int k = 0; k < outputs; ++k)
    if (!is_float(formula->output(k).type)) return {};
  std::set<int> activations;
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    const Value v = node.inputs[k];
    if (v.exists() && is_stored_in_few_bits(v, inference)) return {};
    if (!v.exists() || constants_.contains(v)) continue;
    if (k >= formula->inputs.size() || !formula->inputs[k]) return {};
    activations.insert(static_cast<int>(k));
  }
  Role role;
  for (int output = 0; output < outputs; ++output) {
    const Linearity l = linearity(*formula, output, activations);
    if (l == Linearity::Nonlinear) return {};
    role.affine = role.affine || l == Linearity::Affine;
    role.linear = role.linear || l != Linearity::Independent;
  }
  return role;
}

// Whether all that reads this node is inside.
bool LinearRegions::is_inner(NodeId id, const std::set<NodeId>& inside) const {
  for (std::uint32_t k = 0; k < graph_.node(id).outputs.size(); ++k) {
    const Value v{id, k};
    if (index_.is_output(v)) return false;
    if (!std::ranges::all_of(index_.readers(v), [&](NodeId r) { return inside.contains(r); })) return false;
  }
  return true;
}

std::vector<LinearRegion> LinearRegions::ending_in(Value output) const {
  std::vector<LinearRegion> found;
  const auto last = roles_.find(output.node);
  if (graph_.node(output.node).outputs.size() != 1 || last == roles_.end() || !last->second.linear) return {};
  std::set<NodeId> inside;
  std::set<Value> frontier{output};
  std::map<std::size_t, NodeId, std::greater<>> open{{index_.position(output.node), output.node}};
  LinearRegion region{.nodes = {}, .input = Value::none(), .output = output, .affine = false};
  // Against the order of the graph: all readers of a value come before it.
  while (!open.empty() && inside.size() < kMostRegionNodes) {
    const NodeId id = open.begin()->second;
    open.erase(open.begin());
    const auto role = roles_.find(id);
    if (role == roles_.end() || !role->second.linear || (id != output.node && !is_inner(id, inside)))
      continue;
    inside.insert(id);
    region.nodes.push_back(id);
    region.affine = region.affine || role->second.affine;
    for (std::uint32_t k = 0; k < graph_.node(id).outputs.size(); ++k) frontier.erase({id, k});
    for (const Value& v : graph_.node(id).inputs) {
      if (!v.exists() || constants_.contains(v)) continue;
      frontier.insert(v);
      open.emplace(index_.position(v.node), v.node);
    }
    if (frontier.size() != 1 || inside.size() < 2) continue;
    region.input = *frontier.begin();
    found.push_back(region);
    std::ranges::reverse(found.back().nodes);
  }
  std::ranges::reverse(found);
  return found;
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
