#include "kernel/prove/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "kernel/prove/evaluate_constants.h"
#include "kernel/prove/shrink.h"
#include "kernel/prove/translate.h"
#include "model/eval/program.h"
#include "model/graph/constant.h"
#include "model/graph/rebuild.h"

namespace isomer {
namespace {

using Names = ValuesByName;

Result<std::vector<Value>> find_values(const Names& names, const std::vector<std::string>& wanted) {
  std::vector<Value> out;
  for (const std::string& name : wanted) {
    const auto at = names.find(name);
    if (at == names.end()) return Error{fmt::format("no value is named {}", name)};
    out.push_back(at->second);
  }
  return out;
}

// An empty graph of the same operators. Declarations of values in the file are dropped: nothing here trusts
// them.
Graph bare(const Graph& graph) {
  Graph out;
  out.opsets = graph.opsets;
  out.functions = graph.functions;
  out.name = graph.name;
  return out;
}

Node constant_node(const std::string& name, const Tensor& tensor) {
  Node node;
  node.kind = NodeKind::Initializer;
  node.outputs = {name};
  node.tensor = tensor;
  return node;
}

// Nodes between the inputs and the outputs, each after all that it reads. Error: a path that leads past the
// inputs. Looks at no other node: a model has many regions.
Result<std::vector<NodeId>> nodes_between(const Graph& graph, const std::vector<Value>& inputs,
                                          const std::vector<Value>& outputs) {
  std::vector<NodeId> out;
  std::set<NodeId> entered, done;
  std::vector<NodeId> open;
  const auto push = [&](Value v) {
    const bool is_input = std::ranges::find(inputs, v) != inputs.end();
    if (v.exists() && !is_input && !entered.contains(v.node)) open.push_back(v.node);
  };
  std::for_each(outputs.rbegin(), outputs.rend(), push);
  while (!open.empty()) {
    const NodeId id = open.back();
    const Node& node = graph.node(id);
    if (entered.insert(id).second) {
      if (node.kind == NodeKind::Input || graph.is_overridable(id))
        return Error{fmt::format("the region also depends on {}", node.outputs[0])};
      if (!node.captures.empty()) return Error{fmt::format("{} has a subgraph", label(node))};
      std::for_each(node.inputs.rbegin(), node.inputs.rend(), push);
    } else {
      open.pop_back();
      if (done.insert(id).second) out.push_back(id);
    }
  }
  return out;
}

// The claim's program over the model's constants: an input of a constant's name is that constant.
Result<Graph> with_constants(const Graph& after, const Graph& graph, const Names& names,
                             const std::set<std::string>& region_inputs, const Graph& before) {
  Graph out = bare(graph);
  std::map<NodeId, NodeId> moved;
  for (const NodeId id : after.order()) {
    Node node = after.node(id);
    if (node.kind == NodeKind::Input) {
      const std::string& name = node.outputs[0];
      if (region_inputs.contains(name)) {
        for (const Value& v : before.inputs())
          if (before.name_of(v) == name) node.declared = before.node(v.node).declared;
      } else {
        const auto at = names.find(name);
        const auto constant = at == names.end() ? std::nullopt : known_constant(graph, at->second);
        if (!constant) return Error{fmt::format("{} is neither an input of the region nor a constant", name)};
        node = constant_node(name, *constant);
      }
    } else {
      // A constant of the program's own, say, must not pass for one of the model.
      for (const std::string& name : node.outputs)
        if (names.contains(name) || graph.declared().contains(name))
          return Error{fmt::format("the name {} is taken", name)};
    }
    for (Value& v : node.inputs)
      if (v.exists()) v = {moved.at(v.node), v.output};
    if (!node.captures.empty()) return Error{fmt::format("{} has a subgraph", label(node))};
    moved.emplace(id, out.add(std::move(node)));
  }
  for (const NodeId id : out.order())
    if (out.node(id).kind == NodeKind::Input) out.add_input({id, 0});
  for (const Value& v : after.outputs()) out.add_output({moved.at(v.node), v.output});
  return out;
}

// The region with a constant as what a program computes. Error: it has no such constant.
Result<Graph> with_program(const Graph& region, const std::string& constant, const Graph& program) {
  Graph out = bare(region);
  std::map<Value, Value> moved;
  bool is_there = false;
  const auto add = [&](const Graph& from, NodeId id, std::map<Value, Value>& names) {
    Node node = from.node(id);
    for (Value& v : node.inputs)
      if (v.exists()) v = names.at(v);
    const auto count = static_cast<std::uint32_t>(node.outputs.size());
    const NodeId made = out.add(std::move(node));
    for (std::uint32_t k = 0; k < count; ++k) names.emplace(Value{id, k}, Value{made, k});
  };
  for (const NodeId id : region.order()) {
    if (region.node(id).outputs[0] != constant || !known_constant(region, {id, 0})) {
      add(region, id, moved);
      continue;
    }
    std::map<Value, Value> inside;
    for (const NodeId inner : program.order()) add(program, inner, inside);
    moved.emplace(Value{id, 0}, inside.at(program.outputs()[0]));
    is_there = true;
  }
  if (!is_there) return Error{fmt::format("the region reads no constant {}", constant)};
  for (const Value& v : region.inputs()) out.add_input(moved.at(v));
  for (const Value& v : region.outputs()) out.add_output(moved.at(v));
  return out;
}

// The graph with values renamed; nothing has the new names yet.
Graph renamed(const Graph& graph, const std::map<std::string, std::string>& names) {
  return with_changed_nodes(graph, [&](Node& node) {
    for (std::string& o : node.outputs)
      if (const auto at = names.find(o); at != names.end()) o = at->second;
  });
}

// A replaced value keeps its name, if that is free now: later steps refer to it by that.
Graph with_old_names(const Graph& graph, const std::map<std::string, std::string>& wanted) {
  const Names taken = values_by_name(graph);
  std::map<std::string, std::string> names;
  for (const auto& [from, to] : wanted)
    if (taken.contains(from) && !taken.contains(to)) names.emplace(from, to);
  return names.empty() ? graph : renamed(graph, names);
}

// A graph that grows by the programs of claims, and what they replace in it.
class Application {
 public:
  Application(const Graph& graph, const Names& names) : graph_(graph), names_(names), out_(graph) {}

  Status add(const Graph& after, const std::vector<Value>& outputs) {
    std::map<NodeId, NodeId> moved;
    const auto move = [&](Value v) {
      const Node& from = after.node(v.node);
      return from.kind == NodeKind::Input ? names_.at(from.outputs[0]) : Value{moved.at(v.node), v.output};
    };
    for (const NodeId id : after.order()) {
      Node node = after.node(id);
      if (node.kind == NodeKind::Input) continue;
      if (const auto known = names_.find(node.outputs[0]); known != names_.end()) {
        moved.emplace(id, known->second.node);  // a constant of the model, by with_constants
        continue;
      }
      for (const std::string& name : node.outputs)
        if (!name.empty() && !made_.insert(name).second)
          return Error{fmt::format("the name {} is used twice", name)};
      for (Value& v : node.inputs)
        if (v.exists()) v = move(v);
      moved.emplace(id, out_.add(std::move(node)));
    }
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const Value v = after.outputs()[k], made = move(v);
      if (made == outputs[k]) continue;
      if (!replacements_.emplace(outputs[k], made).second)
        return Error{fmt::format("{} is replaced twice", graph_.name_of(outputs[k]))};
      if (after.node(v.node).kind == NodeKind::Operator)
        old_names_.emplace(after.name_of(v), graph_.name_of(outputs[k]));
    }
    return Done{};
  }
  Result<Graph> finish() const {
    ISOMER_TRY(const Graph replaced, replace(out_, replacements_));
    return with_old_names(without_dead_nodes(replaced), old_names_);
  }

 private:
  const Graph& graph_;
  const Names& names_;
  Graph out_;
  std::set<std::string> made_;
  Replacements replacements_;
  std::map<std::string, std::string> old_names_;
};

}  // namespace

Result<Graph> region_of(const Graph& graph, const Inference& inference, const std::vector<Value>& from,
                        const std::vector<Value>& to) {
  ISOMER_TRY(const std::vector<NodeId> nodes, nodes_between(graph, from, to));
  Graph out = bare(graph);
  std::map<Value, Value> moved;
  for (const Value& v : from) {
    if (moved.contains(v)) return Error{fmt::format("{} is named twice", graph.name_of(v))};
    const ValueInfo& info = inference.of(v);
    if (info.type == ElementType::Undefined || !info.shape)
      return Error{fmt::format("the shape of {} is not known", graph.name_of(v))};
    Node input;
    input.kind = NodeKind::Input;
    input.outputs = {graph.name_of(v)};
    input.declared.type = info.type;
    input.declared.shape = std::vector<std::optional<Dim>>(info.shape->begin(), info.shape->end());
    const Value made{out.add(std::move(input)), 0};
    moved.emplace(v, made);
    out.add_input(made);
  }
  for (const NodeId id : nodes) {
    Node node = graph.node(id);
    for (Value& v : node.inputs)
      if (v.exists()) v = moved.at(v);
    const auto count = static_cast<std::uint32_t>(node.outputs.size());
    const NodeId made = out.add(std::move(node));
    for (std::uint32_t k = 0; k < count; ++k) moved.try_emplace(Value{id, k}, Value{made, k});
  }
  for (const Value& v : to) out.add_output(moved.at(v));
  return out;
}

Result<Workpiece> Workpiece::of(Graph graph) {
  auto state = std::make_shared<State>();
  ISOMER_TRY(state->inference, infer(graph));
  state->names = values_by_name(graph);
  state->graph = std::move(graph);
  return Workpiece(std::move(state));
}

Result<Graph> Workpiece::region(const std::vector<std::string>& inputs,
                                const std::vector<std::string>& outputs) const {
  ISOMER_TRY(const std::vector<Value> from, find_values(state_->names, inputs));
  ISOMER_TRY(const std::vector<Value> to, find_values(state_->names, outputs));
  return region_of(graph(), inference(), from, to);
}

Result<Graph> Workpiece::region(const Claim& claim) const {
  ISOMER_TRY(Graph out, region(claim.inputs, claim.outputs));
  for (const ConstantFact& fact : claim.facts) {
    ISOMER_TRY(const auto at, find_values(state_->names, {fact.constant}));
    const auto constant = known_constant(graph(), at[0]);
    if (!constant) return Error{fmt::format("{} is no constant", fact.constant)};
    ISOMER_TRY(const Graph program, with_constants(fact.program, graph(), state_->names, {}, out));
    if (const Status checked = states(program, *constant); !checked.ok())
      return Error{fmt::format("{}: {}", fact.constant, checked.error().message)};
    ISOMER_TRY(out, with_program(out, fact.constant, program));
  }
  return out;
}

const Workpiece::State::Judged& Workpiece::State::judged() const {
  std::call_once(once_, [this] {
    judged_.sizes = sizes_of(graph, inference);
    judged_.partial = partial_nodes(graph, inference);
  });
  return judged_;
}

// Context of a region from the rest of the model: the sizes at which it runs, and the inputs that may be
// undefined. The claim's program may use such inputs only where the region itself does, even if they are
// finite wherever all values of the model are: another output must not become undefined with them.
std::optional<std::string> Workpiece::add_context(const Graph& before, const Graph& after,
                                                  ProveOptions& options) const {
  const State::Judged& judged = state_->judged();
  for (const Value& v : before.inputs()) {
    const std::string& name = before.name_of(v);
    const NodeId id = state_->names.at(name).node;
    if (judged.sizes.untrusted.contains(id))
      return fmt::format("{} may have another shape where a size is 0", name);
    if (judged.partial.contains(id)) options.partial_inputs.insert(name);
  }
  std::set<std::string> symbols = symbols_of(before);
  symbols.merge(symbols_of(after));
  const Dims sizes = about(judged.sizes.facts, symbols);
  options.sizes.insert(options.sizes.end(), sizes.begin(), sizes.end());
  return std::nullopt;
}

std::variant<ProvedClaim, std::string> Workpiece::prove(const Claim& claim, const ProveOptions& options,
                                                        const ProofSource& ask) const {
  const auto before = region(claim);
  if (!before.ok()) return before.error().message;
  const std::set<std::string> inputs(claim.inputs.begin(), claim.inputs.end());
  auto after = with_constants(claim.after, graph(), state_->names, inputs, *before);
  if (!after.ok()) return after.error().message;
  ProveOptions here = options;
  here.attempt = claim.attempt;
  if (auto why = add_context(*before, *after, here)) return *why;
  const Verdict verdict = ask(*before, *after, here);
  const auto* proof = std::get_if<Proved>(&verdict);
  if (proof == nullptr) return text(verdict);
  auto outputs = find_values(state_->names, claim.outputs);
  ISOMER_CHECK(outputs.ok());
  return ProvedClaim(state_, std::move(*after), std::move(*outputs), *proof);
}

Result<Graph> Workpiece::with(const std::vector<ProvedClaim>& claims) const {
  Application application(graph(), state_->names);
  for (const ProvedClaim& c : claims) {
    ISOMER_CHECK(c.of_ == state_, "a claim that was proved of this graph");
    ISOMER_TRY_DO(application.add(c.after_, c.outputs_));
  }
  return application.finish();
}

std::optional<Tensor> known_value(const Inference& inference, Value value) {
  const ValueInfo& info = inference.of(value);
  if (info.constant) return info.constant;
  const auto extents = concrete_shape(info);
  const auto integers = info.integers ? concrete(*info.integers) : std::nullopt;
  if (!extents || !integers || info.type == ElementType::Undefined) return std::nullopt;
  const Tensor wide = Tensor::of(ElementType::Int64, *extents, *integers);
  return info.type == ElementType::Int64 ? wide : convert(wide, info.type);
}

Result<Graph> fold_constants(const Graph& graph, const std::vector<std::string>& values) {
  const Names names = values_by_name(graph);
  ISOMER_TRY(const std::vector<Value> wanted, find_values(names, values));
  ISOMER_TRY(const Inference inference, infer(graph));
  std::map<Value, Tensor> results;
  std::vector<Value> open;
  // A value that follows from extents does so only if these are what they seem to be.
  const std::set<NodeId> untrusted = sizes_of(graph, inference).untrusted;
  for (std::size_t k = 0; k < values.size(); ++k)
    if (untrusted.contains(wanted[k].node))
      return Error{fmt::format("{} may be something else where a size is 0", values[k])};
  for (std::size_t k = 0; k < values.size(); ++k) {
    auto known = known_value(inference, wanted[k]);
    // A value that follows from constants alone is computed with all digits, also on the way to integers.
    if (known && !region_of(graph, inference, {}, {wanted[k]}).ok())
      results.emplace(wanted[k], std::move(*known));
    else open.push_back(wanted[k]);
  }
  ISOMER_TRY(const Graph program, region_of(graph, inference, {}, open));
  ISOMER_TRY(const EvaluatedProgram evaluated, evaluate_constants(program));
  for (std::size_t k = 0; k < open.size(); ++k) {
    if (!evaluated.outputs[k].has_digits())
      return Error{fmt::format("cancellation leaves too few digits of {}", graph.name_of(open[k]))};
    results.emplace(open[k], evaluated.outputs[k].value);
  }
  Graph out = graph;
  Replacements replacements;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const ElementType type = inference.of(wanted[k]).type;
    if (type == ElementType::Undefined) return Error{fmt::format("the type of {} is not known", values[k])};
    const Tensor& exact = results.at(wanted[k]);
    Node constant = constant_node(values[k] + std::string(kFoldedSuffix),
                                  exact.type() == type ? exact : convert(exact, type));
    if (names.contains(constant.outputs[0]) || graph.declared().contains(constant.outputs[0]))
      return Error{fmt::format("the name {} is taken", constant.outputs[0])};
    replacements.emplace(wanted[k], Value{out.add(std::move(constant)), 0});
  }
  ISOMER_TRY(Graph replaced, replace(out, replacements));
  return without_dead_nodes(replaced);
}

}  // namespace isomer
