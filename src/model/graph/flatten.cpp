#include "model/graph/flatten.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace isomer {
namespace {

// Real models nest bodies up to 5 deep; the reader stops at 64.
constexpr int kMostRounds = 70;

bool imports_the_same(const Graph& outer, const Graph& body) {
  return std::ranges::all_of(body.order(), [&](NodeId id) {
    const Node& node = body.node(id);
    return node.kind != NodeKind::Operator || outer.opset(node.domain) == body.opset(node.domain);
  });
}

// The body that stands for the whole node, if that is known.
const Body* body_to_run(const Graph& graph, const Inference& inference, const Node& node) {
  if (node.bodies.empty()) return nullptr;
  const Body* chosen = nullptr;
  if (node.bodies.front().attribute.empty()) chosen = &node.bodies.front();
  if (node.domain.empty() && node.op == "If" && !node.inputs.empty()) {
    const auto& condition = inference.of(node.inputs[0]).integers;
    if (!condition || condition->size() != 1 || !condition->front().is_concrete()) return nullptr;
    const std::string_view branch = condition->front().is(0) ? "else_branch" : "then_branch";
    const auto at = std::ranges::find(node.bodies, branch, &Body::attribute);
    if (at != node.bodies.end()) chosen = &*at;
  }
  return chosen && imports_the_same(graph, *chosen->graph) ? chosen : nullptr;
}

// One round: every node that stands for a body is replaced by its nodes.
class Flattener {
 public:
  Flattener(const Graph& old, const Inference& inference)
      : old_(old), inference_(inference), fresh_(old.without_nodes()) {}

  Graph run();
  bool changed() const { return changed_; }

 private:
  Value renew(Value value) const;
  void copy(NodeId id, const Node& node);
  void write_out(NodeId id, const Node& node, const Body& body);
  std::string unused(const std::string& like);

  const Graph& old_;
  const Inference& inference_;
  Graph fresh_;
  std::unordered_map<NodeId, std::vector<Value>> values_;  // of the old graph's nodes
  std::unordered_set<std::string> names_;                  // filled when one is needed
  bool changed_ = false;
};

std::string Flattener::unused(const std::string& like) {
  if (names_.empty()) {
    for (const NodeId id : old_.order())
      for (const std::string& name : old_.node(id).outputs) names_.insert(name);
    // Declarations of values that do not exist are dropped.
    for (const auto& [name, type] : old_.declared()) names_.insert(name);
  }
  std::string name = like;
  for (int k = 2; !names_.insert(name).second; ++k) name = fmt::format("{}_{}", like, k);
  return name;
}

Value Flattener::renew(Value value) const {
  return value.exists() ? values_.at(value.node)[value.output] : value;
}

void Flattener::copy(NodeId id, const Node& node) {
  Node moved = node;
  bool same = true;
  for (auto* values : {&moved.inputs, &moved.captures}) {
    for (Value& value : *values) {
      const Value now = renew(value);
      same = same && now == value;
      value = now;
    }
  }
  const NodeId fresh = same ? fresh_.add(id) : fresh_.add(std::move(moved));
  auto& outputs = values_[id];
  for (std::uint32_t k = 0; k < node.outputs.size(); ++k) outputs.push_back({fresh, k});
}

void Flattener::write_out(NodeId id, const Node& node, const Body& body) {
  changed_ = true;
  const Graph& graph = *body.graph;
  const std::string prefix = unused(label(node)) + "/";
  std::map<Value, Value> inner;
  const std::size_t passed = graph.inputs().size() - body.captured.size();
  for (std::size_t k = 0; k < graph.inputs().size(); ++k) {
    Value outer = Value::none();
    if (k >= passed) outer = node.captures[body.captured[k - passed]];
    else if (k < node.inputs.size()) outer = node.inputs[k];
    inner[graph.inputs()[k]] = renew(outer);
  }
  for (const NodeId each : graph.order()) {
    Node moved = graph.node(each);
    if (moved.kind == NodeKind::Input) continue;
    for (auto* values : {&moved.inputs, &moved.captures})
      for (Value& value : *values)
        if (value.exists()) value = inner.at(value);
    if (!moved.name.empty()) moved.name = prefix + moved.name;
    for (std::string& output : moved.outputs)
      if (!output.empty()) output = unused(prefix + output);
    const auto count = static_cast<std::uint32_t>(moved.outputs.size());
    const NodeId fresh = fresh_.add(std::move(moved));
    for (std::uint32_t k = 0; k < count; ++k) inner[{each, k}] = {fresh, k};
  }
  // The outer names stay, each on an Identity.
  auto& outputs = values_[id];
  for (std::size_t k = 0; k < node.outputs.size(); ++k) {
    const Value source = k < graph.outputs().size() ? inner.at(graph.outputs()[k]) : Value::none();
    if (node.outputs[k].empty() || !source.exists()) {
      outputs.push_back(Value::none());
      continue;
    }
    Node named;
    named.op = "Identity";
    named.inputs = {source};
    named.outputs = {node.outputs[k]};
    outputs.push_back({fresh_.add(std::move(named)), 0});
  }
}

Graph Flattener::run() {
  for (const NodeId id : old_.order()) {
    const Node& node = old_.node(id);
    const Body* body = node.kind == NodeKind::Operator ? body_to_run(old_, inference_, node) : nullptr;
    if (body) write_out(id, node, *body);
    else copy(id, node);
    if (node.kind == NodeKind::Initializer && old_.is_overridable(id))
      fresh_.mark_overridable(values_[id][0].node);
  }
  for (const Value& input : old_.inputs()) fresh_.add_input(renew(input));
  for (const Value& output : old_.outputs()) fresh_.add_output(renew(output));
  return std::move(fresh_);
}

}  // namespace

Result<Graph> flatten(const Graph& graph, const InferOptions& options) {
  Graph now = graph;
  for (int round = 0; round < kMostRounds; ++round) {
    const bool any =
        std::ranges::any_of(now.order(), [&](NodeId id) { return !now.node(id).bodies.empty(); });
    if (!any) break;
    ISOMER_TRY(const Inference inference, infer(now, options));
    Flattener flattener(now, inference);
    Graph next = flattener.run();
    if (!flattener.changed()) break;
    now = std::move(next);
  }
  return now;
}

}  // namespace isomer
