#include "search/load_demands.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "graph/constant.h"

namespace isomer {
namespace {

struct Demand {
  std::string_view domain, op;
  std::vector<std::size_t> inputs;  // whose sizes it wants; of STFT the rank
};

// tests/load_demands.py finds them.
const std::vector<Demand>& demands() {
  static const std::vector<Demand> all{
      {"com.microsoft", "EmbedLayerNormalization", {2, 3, 4, 5, 6}},
      {"com.microsoft", "GatherBlockQuantized", {2, 3}},
      {"com.microsoft", "MatMulNBits", {5}},
      {"", "STFT", {2}},
  };
  return all;
}

// Values whose sizes a node wants to be known.
std::vector<Value> demanded_by(const Node& node) {
  std::vector<Value> out;
  if (node.kind != NodeKind::Operator) return out;
  for (const Demand& d : demands()) {
    if (node.op != d.op || node.domain != d.domain) continue;
    for (const std::size_t k : d.inputs)
      if (k < node.inputs.size() && node.inputs[k].exists()) out.push_back(node.inputs[k]);
  }
  // What a body reads of the graph around it may be wanted inside.
  for (const Body& body : node.bodies) {
    const bool wants = std::ranges::any_of(
        body.graph->order(), [&](NodeId id) { return !demanded_by(body.graph->node(id)).empty(); });
    if (!wants) continue;
    for (const auto* read : {&node.inputs, &node.captures})
      for (const Value& v : *read)
        if (v.exists()) out.push_back(v);
  }
  return out;
}

// By the simplest of the runtime's rules: a tensor that is there, or a Reshape that says all sizes.
bool is_plainly_sized(const Graph& graph, Value value) {
  const Node& node = graph.node(value.node);
  if (node.kind == NodeKind::Initializer || is_constant_node(node)) return true;
  if (node.kind == NodeKind::Input) {
    const auto& shape = node.declared.shape;
    return shape && std::ranges::all_of(*shape, [](const auto& dim) { return dim && dim->is_concrete(); });
  }
  if (node.op != "Reshape" || !node.domain.empty() || node.inputs.size() < 2) return false;
  const auto sizes = known_constant(graph, node.inputs[1]);
  if (!sizes || sizes->type() != ElementType::Int64) return false;
  return std::ranges::all_of(sizes->as<std::int64_t>(), [](std::int64_t n) { return n > 0; });
}

}  // namespace

LoadDemands::LoadDemands(Graph graph) : graph_(std::move(graph)) {
  std::vector<Value> todo;
  for (const NodeId id : graph_.order()) {
    const std::vector<Value> wanted = demanded_by(graph_.node(id));
    todo.insert(todo.end(), wanted.begin(), wanted.end());
  }
  while (!todo.empty()) {
    const Value value = todo.back();
    todo.pop_back();
    const Node& node = graph_.node(value.node);
    if (node.kind != NodeKind::Operator || !kept_.insert(graph_.name_of(value)).second) continue;
    if (is_plainly_sized(graph_, value)) continue;
    for (const auto* read : {&node.inputs, &node.captures})
      for (const Value& v : *read)
        if (v.exists()) todo.push_back(v);
  }
}

bool LoadDemands::is_known(const std::string& name) const {
  if (kept_.contains(name)) return true;
  const ValuesByName names = values_by_name(graph_);
  const auto at = names.find(name);
  return at != names.end() && is_plainly_sized(graph_, at->second);
}

std::optional<std::string> LoadDemands::objection(const Proposal& proposal) const {
  for (const std::string& name : proposal.claim.outputs)
    if (kept_.contains(name))
      return fmt::format("ONNX Runtime finds a size that it needs to load the model by {}", name);
  const Graph& after = proposal.claim.after;
  for (const NodeId id : after.order()) {
    for (const Value& v : demanded_by(after.node(id))) {
      const std::string& name = after.name_of(v);
      const bool is_fine =
          after.node(v.node).kind == NodeKind::Input
              ? is_known(name)
              : is_plainly_sized(after, v) || std::ranges::find(proposal.folds, name) != proposal.folds.end();
      if (!is_fine)
        return fmt::format("ONNX Runtime may not find the size of {}, which {} needs", name,
                           label(after.node(id)));
    }
  }
  return std::nullopt;
}

}  // namespace isomer
