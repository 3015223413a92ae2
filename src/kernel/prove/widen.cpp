#include "kernel/prove/widen.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "kernel/prove/translate.h"
#include "model/eval/program.h"
#include "model/graph/constant.h"
#include "model/graph/names.h"
#include "model/graph/rebuild.h"

namespace isomer {
namespace {

bool is_half(ElementType type) { return type == ElementType::Float16 || type == ElementType::BFloat16; }
ElementType wide(ElementType type) { return is_half(type) ? ElementType::Float : type; }

// Whether two formulas are one but for the width of floats: the second has float32 wherever the first has 16
// bits. A formula that itself rounds to 16 bits what had more is refused: that cast is meant.
class Comparison {
 public:
  bool is_same(const Formula& narrow, const Formula& other) {
    return narrow.outputs == other.outputs && narrow.conditions == other.conditions &&
           std::ranges::equal(narrow.inputs, other.inputs,
                              [](const auto& a, const auto& b) {
                                return a.has_value() == b.has_value() &&
                                       (!a || (wide(a->type) == b->type && a->shape == b->shape));
                              }) &&
           std::ranges::equal(narrow.ranges, other.ranges,
                              [](const IndexRange& a, const IndexRange& b) {
                                return a.input == b.input && a.extent == b.extent && a.place == b.place;
                              }) &&
           std::ranges::equal(narrow.stages, other.stages, [&](const Stage& a, const Stage& b) {
             return wide(a.type) == b.type && are_same(a.axes, b.axes) &&
                    is_same(a.value.ref(), b.value.ref());
           });
  }

 private:
  static bool are_same(const std::vector<Axis>& a, const std::vector<Axis>& b) {
    return std::ranges::equal(
        a, b, [](const Axis& x, const Axis& y) { return x.id == y.id && x.extent == y.extent; });
  }
  bool is_same(const ExprRef& a, const ExprRef& b) {
    if (known_.contains({a.get(), b.get()})) return true;
    const bool is_rounding = a->kind == ExprNode::Kind::Apply && a->fn == Fn::Cast && is_half(a->type) &&
                             !is_exact_cast(a->args[0]->type, a->type);
    const bool same =
        !is_rounding && a->kind == b->kind && wide(a->type) == b->type && is_same_here(*a, *b) &&
        std::ranges::equal(a->args, b->args, [&](const auto& x, const auto& y) { return is_same(x, y); }) &&
        std::ranges::equal(a->cases, b->cases, [&](const auto& x, const auto& y) {
          return x.when == y.when && is_same(x.value, y.value);
        });
    if (same) known_.emplace(a.get(), b.get());
    return same;
  }
  // But for types and parts.
  static bool is_same_here(const ExprNode& a, const ExprNode& b) {
    return a.number == b.number && a.integer == b.integer && a.index == b.index && a.tensor == b.tensor &&
           a.at == b.at && a.extents == b.extents && a.fn == b.fn && a.reduction == b.reduction &&
           are_same(a.axes, b.axes) && a.domain == b.domain;
  }
  std::set<std::pair<const ExprNode*, const ExprNode*>> known_;
};

bool touches_halves(const Graph& graph, const Inference& inference, NodeId id) {
  const Node& node = graph.node(id);
  for (std::uint32_t k = 0; k < node.outputs.size(); ++k)
    if (is_half(inference.of({id, k}).type)) return true;
  return std::ranges::any_of(node.inputs,
                             [&](const Value& v) { return v.exists() && is_half(inference.of(v).type); });
}

// A graph with wide copies of some of its nodes beside them.
class Widening {
 public:
  Widening(const Graph& graph, const Inference& inference, const std::set<NodeId>& nodes)
      : graph_(graph), inference_(inference), nodes_(nodes), out_(graph), known_(inference) {
    for (const NodeId id : graph.order())
      if (nodes_.contains(id)) copy(id);
  }

  // Nodes that may not be widened, each with why.
  const std::map<NodeId, std::string>& refused() const { return refused_; }

  // The graph without what was widened.
  Result<Graph> finish() {
    std::set<Value> read(graph_.outputs().begin(), graph_.outputs().end());
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      read.insert(node.captures.begin(), node.captures.end());
      if (!nodes_.contains(id)) read.insert(node.inputs.begin(), node.inputs.end());
    }
    Replacements replacements;
    for (const auto& [from, to] : made_) {
      const ElementType type = inference_.of(from).type;
      if (!is_half(type)) replacements.emplace(from, to);
      else if (read.contains(from)) replacements.emplace(from, cast(to, type, from, kNarrowSuffix));
    }
    const ValuesByName taken = values_by_name(graph_);
    for (const std::string& name : names_)
      if (taken.contains(name) || graph_.declared().contains(name))
        return Error{fmt::format("the name {} is taken", name)};
    ISOMER_TRY(const Graph replaced, replace(out_, replacements));
    return without_dead_nodes(replaced);
  }

 private:
  // The known facts about a value that stands for another, in float32.
  void know(Value made, ValueInfo info) {
    info.type = wide(info.type);
    if (info.constant) info.constant = convert(*info.constant, info.type);
    auto& values = known_.values[made.node];
    if (values.size() <= made.output) values.resize(made.output + 1);
    values[made.output] = std::move(info);
  }

  Value cast(Value v, ElementType type, Value like, std::string_view suffix) {
    Node node;
    node.op = "Cast";
    node.inputs = {v};
    node.outputs = {graph_.name_of(like) + std::string(suffix)};
    node.name = node.outputs[0];
    node.attributes.set("to", static_cast<std::int64_t>(type));
    names_.push_back(node.outputs[0]);
    return {out_.add(std::move(node)), 0};
  }

  // The input of a copy in place of a value.
  Value read(Value v) {
    if (!v.exists()) return v;
    if (const auto at = made_.find(v); at != made_.end()) return at->second;
    if (!is_half(inference_.of(v).type)) return v;
    if (const auto at = borders_.find(v); at != borders_.end()) return at->second;
    const auto constant = known_constant(graph_, v);
    Value made;
    // A single number stays a constant: runtimes look at the bounds of a Clip.
    if (constant && constant->count() == 1) {
      Node node;
      node.kind = NodeKind::Initializer;
      node.outputs = {graph_.name_of(v) + std::string(kWideSuffix)};
      node.tensor = convert(*constant, ElementType::Float);
      names_.push_back(node.outputs[0]);
      made = {out_.add(std::move(node)), 0};
    } else {
      made = cast(v, ElementType::Float, v, kWideSuffix);
    }
    know(made, inference_.of(v));
    borders_.emplace(v, made);
    return made;
  }

  static bool is_standard_cast(const Node& node) { return node.op == "Cast" && node.domain.empty(); }

  void copy(NodeId id) {
    if (auto why = why_not_copied(id)) return refuse(id, *why);
    Node node = graph_.node(id);
    // Cast to float32 is what the copies are already.
    if (is_standard_cast(node) && is_half(inference_.of(node.inputs[0]).type) &&
        inference_.of({id, 0}).type == ElementType::Float) {
      made_.emplace(Value{id, 0}, read(node.inputs[0]));
      return;
    }
    if (is_standard_cast(node) && is_half(inference_.of({id, 0}).type))
      node.attributes.set("to", static_cast<std::int64_t>(ElementType::Float));
    for (Value& v : node.inputs) v = read(v);
    for (std::string& name : node.outputs)
      if (!name.empty()) names_.push_back(name += kWideSuffix);
    node.name = node.outputs[0];
    const auto count = static_cast<std::uint32_t>(node.outputs.size());
    const NodeId made = out_.add(std::move(node));
    const Definition narrow = define_node(graph_, inference_, id), other = define_node(out_, known_, made);
    const auto *a = std::get_if<Formula>(&narrow), *b = std::get_if<Formula>(&other);
    if (a == nullptr || b == nullptr) refuse(id, "it has no formula");
    else if (!Comparison().is_same(*a, *b)) refuse(id, "in float32 it has another formula");
    else if (reads_halves(*a)) refuse_what_decides(id);
    for (std::uint32_t k = 0; k < count; ++k) {
      made_.emplace(Value{id, k}, Value{made, k});
      know({made, k}, inference_.of({id, k}));
    }
  }

  // Sizes may follow from integers and truth values that are made of floats, and from floats that are known
  // before the model runs: what their last digits decide is decided in 16 bits, as before.
  void refuse_what_decides(NodeId id) {
    for (std::uint32_t k = 0; k < graph_.node(id).outputs.size(); ++k) {
      const ValueInfo& info = inference_.of({id, k});
      if (!graph_.node(id).outputs[k].empty() && !is_float(info.type))
        return refuse(id, "it makes something else of 16-bit floats");
      if (info.constant) return refuse(id, "its value is known before the model runs");
    }
  }

  static bool reads_halves(const Formula& formula) {
    const auto reads = read_inputs(formula);
    for (std::size_t k = 0; k < reads.size(); ++k)
      if (reads[k] && is_half(formula.inputs[k]->type)) return true;
    return false;
  }

  std::optional<std::string> why_not_copied(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.kind != NodeKind::Operator || !node.captures.empty() || known_constant(graph_, {id, 0}))
      return "it is no operator without subgraphs";
    if (!touches_halves(graph_, inference_, id)) return "it has no 16-bit floats";
    if (inference_.opaque.contains(id)) return "it has no formula";
    return std::nullopt;
  }
  void refuse(NodeId id, const std::string& why) {
    refused_.emplace(id, fmt::format("{}: {}", label(graph_.node(id)), why));
  }

  const Graph& graph_;
  const Inference& inference_;
  const std::set<NodeId>& nodes_;
  Graph out_;
  Inference known_;                        // of the graph, and of the copies
  std::map<Value, Value> made_, borders_;  // by what they stand for
  std::map<NodeId, std::string> refused_;
  std::vector<std::string> names_;  // of all that is new
};

}  // namespace

Result<Graph> widen(const Graph& graph, const std::vector<std::string>& values) {
  const ValuesByName names = values_by_name(graph);
  std::set<NodeId> nodes;
  for (const std::string& name : values) {
    const auto at = names.find(name);
    if (at == names.end()) return Error{fmt::format("no value is named {}", name)};
    nodes.insert(at->second.node);
  }
  ISOMER_TRY(const Inference inference, infer(graph));
  Widening widening(graph, inference, nodes);
  if (!widening.refused().empty()) return Error{widening.refused().begin()->second};
  return widening.finish();
}

std::set<NodeId> widenable(const Graph& graph, const Inference& inference) {
  std::set<NodeId> nodes;
  for (const NodeId id : graph.order())
    if (graph.node(id).kind == NodeKind::Operator && graph.node(id).captures.empty() &&
        !known_constant(graph, {id, 0}) && touches_halves(graph, inference, id))
      nodes.insert(id);
  for (;;) {
    const Widening widening(graph, inference, nodes);
    const auto& refused = widening.refused();
    if (refused.empty()) return nodes;
    for (const auto& [id, why] : refused) nodes.erase(id);
  }
}

}  // namespace isomer
