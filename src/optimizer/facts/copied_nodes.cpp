#include "optimizer/facts/copied_nodes.h"

#include <algorithm>
#include <optional>
#include <set>

#include "model/graph/dequantized.h"

namespace isomer {
namespace {

// The value of this name, if the graph's own nodes compute it.
std::optional<Value> computed(const Graph& graph, const std::string& name) {
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k)
      if (node.kind == NodeKind::Operator && node.outputs[k] == name) return Value{id, k};
  }
  return std::nullopt;
}

// The nodes that compute a value.
Graph up_to(const Graph& graph, Value value) {
  std::set<NodeId> needed{value.node};
  for (auto at = graph.order().rbegin(); at != graph.order().rend(); ++at)
    if (needed.contains(*at))
      for (const Value& v : graph.node(*at).inputs)
        if (v.exists()) needed.insert(v.node);
  Graph out = graph.without_nodes();
  for (const NodeId id : graph.order())
    if (needed.contains(id)) out.add(id);
  out.add_output(value);
  return out;
}

constexpr std::size_t kMostNodes = 16;  // a normalization that is spelled out has nine

// A constant as it is, or stored in few bits and dequantised.
bool is_known(const Site& site, Value v) {
  if (!v.exists() || site.is_constant(v)) return true;
  const Node& node = site.node(v.node);
  return node.kind == NodeKind::Operator && is_dequantization(node) &&
         std::ranges::all_of(node.inputs, [&](Value in) { return !in.exists() || site.is_constant(in); });
}

bool has_matrix(const Site& site, NodeId id) {
  return std::ranges::any_of(site.node(id).inputs,
                             [&](Value v) { return v.exists() && is_known(site, v) && site.rank(v) > 1; });
}

}  // namespace

std::vector<NodeId> computed_from(const Site& site, Value value) {
  std::set<Value> inside{value};
  std::vector<NodeId> border = site.readers(value), out;
  while (!border.empty() && out.size() < kMostNodes) {
    std::ranges::sort(border, {}, [&](NodeId id) { return site.position(id); });
    const auto next = std::ranges::find_if(border, [&](NodeId id) {
      return std::ranges::all_of(site.activations(id),
                                 [&](Value v) { return inside.contains(v) || is_known(site, v); });
    });
    if (next == border.end()) break;
    const NodeId id = *next;
    std::erase(border, id);
    const Node& node = site.node(id);
    if (node.kind != NodeKind::Operator || !node.captures.empty() || !node.domain.empty() ||
        node.outputs.size() != 1 || has_matrix(site, id) || !inside.insert({id, 0}).second)
      continue;
    out.push_back(id);
    for (const NodeId r : site.readers({id, 0})) border.push_back(r);
  }
  return out;
}

ReadElsewhere read_elsewhere(const Site& site, const std::map<Value, Value>& made) {
  ReadElsewhere out;
  for (const auto& [value, copy] : made) {
    const auto is_outside = [&](NodeId r) { return !made.contains({r, 0}); };
    if (!site.is_output(value) && std::ranges::none_of(site.readers(value), is_outside)) continue;
    out.replaced.push_back(value);
    out.by.push_back(copy);
  }
  return out;
}

void copy_nodes(ProgramBuilder& b, const Site& site, const std::vector<NodeId>& nodes,
                std::map<Value, Value>& made) {
  for (const NodeId id : nodes) {
    std::vector<Value> inputs;
    for (const Value& v : site.node(id).inputs) inputs.push_back(b.made_or_input(site.graph, v, made));
    made.emplace(Value{id, 0}, b.copy(site.node(id), inputs));
  }
}

Value append_program(ProgramBuilder& b, const Site& site, const Graph& program,
                     const std::map<std::string, Value>& made) {
  std::map<NodeId, Value> moved;  // first outputs
  for (const NodeId id : program.order()) {
    const Node& node = program.node(id);
    std::vector<Value> inputs;
    for (const Value& v : node.inputs)
      inputs.push_back(v.exists() ? Value{moved.at(v.node).node, moved.at(v.node).output + v.output} : v);
    const auto at = node.kind == NodeKind::Input ? made.find(node.outputs[0]) : made.end();
    const bool is_read = node.kind == NodeKind::Input ||
                         (node.kind == NodeKind::Initializer && site.find(node.outputs[0]).has_value());
    if (at != made.end()) moved.emplace(id, at->second);
    else if (is_read) moved.emplace(id, b.input(node.outputs[0]));
    else if (node.kind == NodeKind::Initializer) moved.emplace(id, b.constant(node.tensor));
    else moved.emplace(id, b.copy(node, inputs));
  }
  const Value y = program.outputs()[0];
  return {moved.at(y.node).node, moved.at(y.node).output + y.output};
}

Value append_program(ProgramBuilder& b, const Site& site, const Graph& inner, const Graph& program) {
  std::map<std::string, Value> made;
  for (const Value& v : program.inputs())
    if (const auto own = computed(inner, program.name_of(v)))
      made.emplace(program.name_of(v), append_program(b, site, up_to(inner, *own)));
  return append_program(b, site, program, made);
}

}  // namespace isomer
