#include "kernel/prove/lemma.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "kernel/prove/translate.h"
#include "kernel/prove/value_numbers.h"
#include "model/graph/infer.h"

namespace isomer {
namespace {

constexpr std::size_t kMostCandidates = 8;  // each costs an evaluation mod p

// Values between inputs and outputs, in order: what comes first is the smaller question.
std::vector<Value> inner_values(const Graph& graph) {
  std::vector<Value> out;
  const std::set<NodeId> live = needed_nodes(graph);
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const Value value{id, 0};
    if (node.kind != NodeKind::Operator || node.outputs.size() != 1 || node.inputs.empty()) continue;
    if (live.contains(id) && std::ranges::find(graph.outputs(), value) == graph.outputs().end())
      out.push_back(value);
  }
  return out;
}

// The program whose output is this value.
Graph up_to(const Graph& graph, Value value) {
  Graph out = graph.without_nodes();
  for (const NodeId id : graph.order()) {
    out.add(id);
    if (graph.is_overridable(id)) out.mark_overridable(id);
  }
  for (const Value& v : graph.inputs()) out.add_input(v);
  out.add_output(value);
  return out;
}

// Whether a value may be undefined though all inputs are finite but those which may themselves be undefined.
bool may_be_undefined(const Graph& graph, const Inference& inference, Value value,
                      const std::set<std::string>& partial_inputs) {
  if (partial_nodes(graph, inference).contains(value.node)) return true;
  const Graph program = up_to(graph, value);
  const std::set<NodeId> needed = needed_nodes(program);
  return std::ranges::any_of(graph.inputs(), [&](const Value& v) {
    return needed.contains(v.node) && partial_inputs.contains(graph.name_of(v));
  });
}

// The program in which this value is an input.
Graph beyond(const Graph& graph, Value value, const ValueInfo& info, const std::string& name) {
  Node input;
  input.kind = NodeKind::Input;
  input.outputs = {name};
  input.declared.type = info.type;
  input.declared.shape.emplace(info.shape->begin(), info.shape->end());
  Graph out = graph.without_nodes();
  const Value cut{out.add(std::move(input)), 0};
  std::map<NodeId, NodeId> moved;
  const auto move = [&](Value v) {
    return v == value ? cut : v.exists() ? Value{moved.at(v.node), v.output} : v;
  };
  for (const NodeId id : graph.order()) {
    if (id == value.node) continue;
    Node node = graph.node(id);
    for (Value& v : node.inputs) v = move(v);
    for (Value& v : node.captures) v = move(v);
    const NodeId made = out.add(std::move(node));
    moved.emplace(id, made);
    if (graph.is_overridable(id)) out.mark_overridable(made);
  }
  for (const Value& v : graph.inputs()) out.add_input(move(v));
  out.add_input(cut);
  for (const Value& v : graph.outputs()) out.add_output(move(v));
  return out;
}

bool is_proved(const Verdict& verdict) { return std::holds_alternative<Proved>(verdict); }

Proved both(Proved a, const Proved& b) {
  a.field.points += b.field.points;
  a.field.whole = a.field.whole && b.field.whole;
  a.field.polynomial = a.field.polynomial && b.field.polynomial;
  a.facts.insert(a.facts.end(), b.facts.begin(), b.facts.end());
  a.expanded_constants = a.expanded_constants || b.expanded_constants;
  a.used_laws = a.used_laws || b.used_laws;
  return a;
}

}  // namespace

Verdict prove_with_lemma(const Graph& a, const Graph& b, const ProveOptions& options) {
  const auto a_info = infer(a), b_info = infer(b);
  if (!a_info.ok() || !b_info.ok()) return prove_equal(a, b, options);
  ValueNumbers numbers;
  numbers.add(a, *a_info);
  numbers.add(b, *b_info);
  ProveOptions quick = options, quiet = options;
  quick.sets = false;
  quick.refute = quiet.refute = nullptr;
  std::size_t tried = 0;
  for (const Value u : inner_values(a)) {
    const ValueInfo& x = a_info->of(u);
    if (!x.shape) continue;
    for (const Value v : inner_values(b)) {
      const ValueInfo& y = b_info->of(v);
      if (numbers.of(a, u.node) == numbers.of(b, v.node) || x.type != y.type || x.shape != y.shape) continue;
      if (++tried > kMostCandidates) return prove_equal(a, b, options);
      const Graph left = up_to(a, u), right = up_to(b, v);
      if (!is_proved(prove_equal(left, right, quick))) continue;
      const Verdict lemma = prove_equal(left, right, quiet);
      if (!is_proved(lemma)) continue;
      // No identifier of a text, and one number for both programs, which may have not as many inputs.
      const std::string name = fmt::format("cut {}", std::max(a.inputs().size(), b.inputs().size()));
      // A new unknown is as undefined as the value that it stands for: the second program may use it only
      // where the first does.
      ProveOptions of_rest = quiet;
      if (may_be_undefined(a, *a_info, u, options.partial_inputs)) of_rest.partial_inputs.insert(name);
      const Verdict rest = prove_with_lemma(beyond(a, u, x, name), beyond(b, v, y, name), of_rest);
      if (is_proved(rest)) return both(std::get<Proved>(lemma), std::get<Proved>(rest));
    }
  }
  return prove_equal(a, b, options);
}

}  // namespace isomer
