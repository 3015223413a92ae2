#include "optimizer/search/load_demands.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <vector>

#include "model/graph/constant.h"

namespace isomer {
namespace {

struct Demand {
  std::string_view domain, op;
  std::vector<std::size_t> inputs;  // whose sizes it wants; of STFT the rank
};

// tests/evidence/load_demands.py finds them.
const std::vector<Demand>& demands() {
  static const std::vector<Demand> all{
      {"com.microsoft", "EmbedLayerNormalization", {2, 3, 4, 5, 6}},
      {"com.microsoft", "GatherBlockQuantized", {2, 3}},
      {"com.microsoft", "MatMulNBits", {5}},
      {"", "STFT", {2}},
  };
  return all;
}

struct Constants {
  std::string_view domain, op;
  std::vector<std::size_t> given, wanted;  // where those inputs are constants, these must be
};

// Inputs that the runtime reads when it creates an operator, without a check: it crashes without them.
// tests/evidence/load_demands.py finds them too.
const std::vector<Constants>& constants() {
  static const std::vector<Constants> all{
      {"com.microsoft", "QLinearWhere", {7, 8}, {3, 6}},
  };
  return all;
}

std::vector<Value> existing(const Node& node, const std::vector<std::size_t>& inputs) {
  std::vector<Value> out;
  for (const std::size_t k : inputs)
    if (k < node.inputs.size() && node.inputs[k].exists()) out.push_back(node.inputs[k]);
  return out;
}

std::vector<Value> all_read(const Node& node) {
  std::vector<Value> out;
  for (const auto* read : {&node.inputs, &node.captures})
    for (const Value& v : *read)
      if (v.exists()) out.push_back(v);
  return out;
}

// Values whose sizes a node wants to be known.
std::vector<Value> demanded_by(const Node& node) {
  std::vector<Value> out;
  if (node.kind != NodeKind::Operator) return out;
  for (const Demand& d : demands()) {
    if (node.op != d.op || node.domain != d.domain) continue;
    out = existing(node, d.inputs);
  }
  // A value that a body reads of the graph around it may be required inside.
  for (const Body& body : node.bodies) {
    const bool wants = std::ranges::any_of(
        body.graph->order(), [&](NodeId id) { return !demanded_by(body.graph->node(id)).empty(); });
    if (!wants) continue;
    const std::vector<Value> read = all_read(node);
    out.insert(out.end(), read.begin(), read.end());
  }
  return out;
}

// Values that must not become, or cease to be, constants for a node. `is_constant` returns what is certain.
std::vector<Value> bound_by(const Node& node, const std::function<bool(Value)>& is_constant) {
  if (node.kind != NodeKind::Operator) return {};
  for (const Constants& c : constants()) {
    if (node.op != c.op || node.domain != c.domain) continue;
    std::vector<Value> out = existing(node, c.wanted);
    if (out.size() == c.wanted.size() && std::ranges::all_of(out, is_constant)) return out;
    const std::vector<Value> given = existing(node, c.given);
    out.insert(out.end(), given.begin(), given.end());
    return out;
  }
  for (const Body& body : node.bodies) {
    const auto is_bound = [&](NodeId id) {
      return !bound_by(body.graph->node(id), [](Value) { return false; }).empty();
    };
    if (std::ranges::any_of(body.graph->order(), is_bound)) return all_read(node);
  }
  return {};
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
  std::vector<Value> sized, bound;
  const auto is_constant = [&](Value v) { return known_constant(graph_, v).has_value(); };
  for (const NodeId id : graph_.order()) {
    const std::vector<Value> wanted = demanded_by(graph_.node(id));
    sized.insert(sized.end(), wanted.begin(), wanted.end());
    const std::vector<Value> same = bound_by(graph_.node(id), is_constant);
    bound.insert(bound.end(), same.begin(), same.end());
  }
  // The nodes that a value follows from, and itself; `ends`: nodes before it do not matter.
  const auto collect = [&](std::vector<Value> todo, const auto& ends) {
    std::set<std::string> out;
    while (!todo.empty()) {
      const Value value = todo.back();
      todo.pop_back();
      const Node& node = graph_.node(value.node);
      if (node.kind != NodeKind::Operator || !out.insert(graph_.name_of(value)).second) continue;
      if (ends(value)) continue;
      const std::vector<Value> read = all_read(node);
      todo.insert(todo.end(), read.begin(), read.end());
    }
    return out;
  };
  kept_ = collect(std::move(sized), [&](Value v) { return is_plainly_sized(graph_, v); });
  bound_ = collect(std::move(bound), [](Value) { return false; });
}

bool LoadDemands::is_known(const std::string& name) const {
  if (kept_.contains(name)) return true;
  const ValuesByName names = values_by_name(graph_);
  const auto at = names.find(name);
  return at != names.end() && is_plainly_sized(graph_, at->second);
}

std::optional<std::string> LoadDemands::constants_objection(const Proposal& proposal) const {
  const Graph& after = proposal.claim.after;
  for (const std::string& name : proposal.claim.outputs)
    if (bound_.contains(name)) return fmt::format("ONNX Runtime may crash if {} becomes a constant", name);
  const auto is_constant = [&](Value v) {
    const std::string& name = after.name_of(v);
    if (std::ranges::find(proposal.folds, name) != proposal.folds.end()) return true;
    if (after.node(v.node).kind != NodeKind::Input) return known_constant(after, v).has_value();
    const ValuesByName names = values_by_name(graph_);
    const auto at = names.find(name);
    return at != names.end() && known_constant(graph_, at->second);
  };
  for (const NodeId id : after.order())
    for (const Value& v : bound_by(after.node(id), is_constant))
      if (!is_constant(v))
        return fmt::format("ONNX Runtime may crash at {}, because {} may not be a constant",
                           label(after.node(id)), after.name_of(v));
  return std::nullopt;
}

std::optional<std::string> LoadDemands::objection(const Proposal& proposal) const {
  if (auto why = constants_objection(proposal)) return why;
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
