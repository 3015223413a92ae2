#include "model/graph/rebuild.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "model/graph/purity.h"

namespace isomer {
namespace {

// Each key's replacement that is not itself replaced.
Result<Replacements> resolve(const Graph& graph, const Replacements& replacements) {
  Replacements resolved;
  for (const auto& [from, to] : replacements) {
    ISOMER_CHECK(graph.contains(from.node) && graph.contains(to.node),
                 "a replacement between values of the graph");
    std::vector<Value> chain{from};
    Value end = to;
    for (auto at = replacements.find(end); at != replacements.end(); at = replacements.find(end)) {
      if (const auto known = resolved.find(end); known != resolved.end()) {
        end = known->second;
        break;
      }
      chain.push_back(end);
      if (chain.size() > replacements.size())
        return Error{"the replacements go round in a circle", label(graph.node(from.node))};
      end = at->second;
    }
    for (const Value& value : chain) resolved[value] = end;
  }
  return resolved;
}

class Rebuilder {
 public:
  Rebuilder(const Graph& old, Replacements replacements)
      : old_(old), replacements_(std::move(replacements)), fresh_(old.without_nodes()) {}

  Result<Graph> run();

 private:
  Value source(Value use) const;
  bool is_gone(NodeId id) const;
  Status keep_names();
  Status visit(NodeId root);
  void emit(NodeId id);
  Value renew(Value value) const;
  Value renewed_by_name(Value use);
  std::string unused_name(const std::string& like);

  const Graph& old_;
  Replacements replacements_;
  Graph fresh_;
  std::unordered_map<NodeId, NodeId> renewed_;  // old id -> new id
  enum class Mark : std::uint8_t { Open, Done };
  std::unordered_map<NodeId, Mark> marks_;
  std::map<Value, std::string> taken_over_;  // replacement -> the name it gets
  std::map<Value, Value>
      identities_;  // replaced value whose name an Identity gives -> that Identity, once made
  std::unordered_set<std::string> names_;  // all names in the graph, filled when one is needed
};

Value Rebuilder::source(Value use) const {
  const auto at = replacements_.find(use);
  return at == replacements_.end() ? use : at->second;
}

bool Rebuilder::is_gone(NodeId id) const {
  const Node& node = old_.node(id);
  if (node.kind == NodeKind::Input || old_.is_overridable(id)) return false;
  bool any = false;
  for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
    if (node.outputs[k].empty()) continue;
    if (!replacements_.contains({id, k})) return false;
    any = true;
  }
  return any;
}

// Decides which new values get the names of replaced ones that must stay (outputs, say).
Status Rebuilder::keep_names() {
  std::vector<Value> named = old_.outputs();
  for (const NodeId id : old_.order()) {
    const auto& captures = old_.node(id).captures;
    named.insert(named.end(), captures.begin(), captures.end());
  }
  const std::set<Value> all(named.begin(), named.end());
  for (const Value& value : named) {
    if (!value.exists()) continue;
    const Value by = source(value);
    if (by == value || identities_.contains(value)) continue;
    if (!is_gone(value.node) && old_.node(value.node).kind != NodeKind::Operator)
      return Error{fmt::format("{} is an input of the graph and an output or captured: its name must stay",
                               old_.name_of(value)),
                   label(old_.node(value.node))};
    const bool can_take = old_.node(by.node).kind == NodeKind::Operator && !all.contains(by);
    const auto [at, first] =
        can_take ? taken_over_.try_emplace(by, old_.name_of(value)) : std::pair{taken_over_.end(), false};
    if (first || (can_take && at->second == old_.name_of(value))) continue;
    identities_.emplace(value, Value::none());
  }
  return Done{};
}

std::string Rebuilder::unused_name(const std::string& like) {
  if (names_.empty())
    for (const NodeId id : old_.order())
      names_.insert(old_.node(id).outputs.begin(), old_.node(id).outputs.end());
  for (int k = 1;; ++k)
    if (auto name = fmt::format("{}_replaced{}", like, k); names_.insert(name).second) return name;
}

Value Rebuilder::renew(Value value) const {
  if (!value.exists()) return value;
  const auto at = renewed_.find(value.node);
  ISOMER_CHECK(at != renewed_.end());
  return {at->second, value.output};
}

// The value for a reader that knows it by its old name.
Value Rebuilder::renewed_by_name(Value use) {
  const auto identity = identities_.find(use);
  if (identity == identities_.end()) return renew(source(use));
  if (!identity->second.exists()) {
    Node node;
    node.op = "Identity";
    node.inputs = {renew(source(use))};
    node.outputs = {old_.name_of(use)};
    identity->second = {fresh_.add(std::move(node)), 0};
  }
  return identity->second;
}

void Rebuilder::emit(NodeId id) {
  const Node& old = old_.node(id);
  std::vector<Value> inputs, captures;
  for (const Value& value : old.inputs) inputs.push_back(renew(source(value)));
  for (const Value& value : old.captures) captures.push_back(renewed_by_name(value));
  std::vector<std::string> outputs = old.outputs;
  for (std::uint32_t k = 0; k < outputs.size(); ++k) {
    if (const auto at = taken_over_.find({id, k}); at != taken_over_.end()) outputs[k] = at->second;
    else if (old.kind == NodeKind::Operator && !outputs[k].empty() && replacements_.contains({id, k}))
      outputs[k] = unused_name(outputs[k]);
  }
  if (inputs == old.inputs && captures == old.captures && outputs == old.outputs) {
    renewed_[id] = fresh_.add(id);
    return;
  }
  Node node = old;
  node.inputs = std::move(inputs);
  node.captures = std::move(captures);
  node.outputs = std::move(outputs);
  renewed_[id] = fresh_.add(std::move(node));
}

// Emits a node after all that it reads, with a stack of our own.
Status Rebuilder::visit(NodeId root) {
  std::vector<NodeId> stack{root};
  while (!stack.empty()) {
    const NodeId id = stack.back();
    const auto [mark, first] = marks_.try_emplace(id, Mark::Open);
    if (!first) {
      stack.pop_back();
      if (mark->second == Mark::Open) {
        emit(id);
        mark->second = Mark::Done;
      }
      continue;
    }
    const Node& node = old_.node(id);
    for (const auto* values : {&node.captures, &node.inputs}) {
      for (const Value& value : std::views::reverse(*values)) {
        if (!value.exists()) continue;
        const NodeId read = source(value).node;
        const auto seen = marks_.find(read);
        if (seen == marks_.end()) stack.push_back(read);
        else if (seen->second == Mark::Open)
          return Error{fmt::format("the replacement that {} reads depends on what it replaces", label(node)),
                       label(node)};
      }
    }
  }
  return Done{};
}

Result<Graph> Rebuilder::run() {
  ISOMER_TRY_DO(keep_names());
  for (const NodeId id : old_.order())
    if (!is_gone(id)) ISOMER_TRY_DO(visit(id));
  for (const Value& input : old_.inputs()) {
    fresh_.add_input(renew(input));
    if (old_.is_overridable(input.node)) fresh_.mark_overridable(renew(input).node);
  }
  for (const Value& output : old_.outputs()) fresh_.add_output(renewed_by_name(output));
  return std::move(fresh_);
}

}  // namespace

Result<Graph> replace(const Graph& graph, const Replacements& replacements) {
  ISOMER_TRY(Replacements resolved, resolve(graph, replacements));
  return Rebuilder(graph, std::move(resolved)).run();
}

Graph without_dead_nodes(const Graph& graph) {
  std::unordered_set<NodeId> live;
  for (const auto* values : {&graph.outputs(), &graph.inputs()})
    for (const Value& value : *values) live.insert(value.node);
  for (const NodeId id : std::views::reverse(graph.order())) {
    const Node& node = graph.node(id);
    if (!live.contains(id) && purity(graph, node) != Purity::Unknown) continue;
    live.insert(id);
    for (const auto* values : {&node.inputs, &node.captures})
      for (const Value& value : *values) live.insert(value.node);
  }
  Graph fresh = graph.without_nodes();
  for (const NodeId id : graph.order())
    if (live.contains(id)) fresh.add(id);
  for (const Value& input : graph.inputs()) {
    fresh.add_input(input);
    if (graph.is_overridable(input.node)) fresh.mark_overridable(input.node);
  }
  for (const Value& output : graph.outputs()) fresh.add_output(output);
  return fresh;
}

Graph with_changed_nodes(const Graph& graph, const std::function<void(Node&)>& change) {
  Graph out = graph.without_nodes();
  std::map<NodeId, NodeId> moved;
  const auto move = [&](Value v) { return v.exists() ? Value{moved.at(v.node), v.output} : v; };
  for (const NodeId id : graph.order()) {
    Node node = graph.node(id);
    change(node);
    for (Value& v : node.inputs) v = move(v);
    for (Value& v : node.captures) v = move(v);
    const NodeId made = out.add(std::move(node));
    moved.emplace(id, made);
    if (graph.is_overridable(id)) out.mark_overridable(made);
  }
  for (const Value& v : graph.inputs()) out.add_input(move(v));
  for (const Value& v : graph.outputs()) out.add_output(move(v));
  return out;
}

}  // namespace isomer
