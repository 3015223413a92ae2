#include "kernel/prove/translate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "kernel/prove/facts.h"
#include "model/expr/parts.h"
#include "model/graph/constant.h"

namespace isomer {
namespace {

std::string unknown_value(const Graph& graph, Value v) {
  return fmt::format("{} has no definition here, or no known size", graph.name_of(v));
}

void note_reads(const ExprNode& e, std::vector<bool>& out) {
  if (e.kind == ExprNode::Kind::Read && e.tensor.kind == TensorRef::Kind::Input)
    out[static_cast<std::size_t>(e.tensor.number)] = true;
  for (const ExprRef& a : e.args) note_reads(*a, out);
  for (const ExprNode::Case& c : e.cases) note_reads(*c.value, out);
}

bool only_selects(const ExprNode& e) {
  switch (e.kind) {
    case ExprNode::Kind::Number: return !is_float(e.type) || std::isfinite(e.number);
    case ExprNode::Kind::Read: return true;
    case ExprNode::Kind::Cases:
      return std::ranges::all_of(e.cases, [](const ExprNode::Case& c) { return only_selects(*c.value); }) &&
             std::ranges::all_of(e.args, [](const ExprRef& otherwise) { return only_selects(*otherwise); });
    default: return false;
  }
}

}  // namespace

bool only_selects(const Formula& formula) {
  return std::ranges::all_of(formula.stages, [](const Stage& s) { return only_selects(*s.value); });
}

std::vector<bool> read_inputs(const Formula& formula) {
  std::vector<bool> out(formula.inputs.size(), false);
  for (const Stage& s : formula.stages) note_reads(*s.value, out);
  return out;
}

bool Translator::is_symbol(const Graph& graph, const Inference& inference, Value value) const {
  const Node& node = graph.node(value.node);
  if (node.kind != NodeKind::Operator) return true;
  if (known_constant(graph, value)) return true;
  if (inference.opaque.contains(value.node)) return true;
  return options_.cut_common && numbers_.is_common(numbers_.of(graph, value.node));
}

std::vector<NodeId> Translator::needed(const Graph& graph, const Inference& inference,
                                       const std::vector<Value>& outputs) const {
  std::set<NodeId> seen;
  std::vector<NodeId> open;
  const auto note = [&](Value v) {
    if (v.exists() && seen.insert(v.node).second) open.push_back(v.node);
  };
  std::ranges::for_each(outputs, note);
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (!is_symbol(graph, inference, {id, 0})) std::ranges::for_each(graph.node(id).inputs, note);
  }
  std::vector<NodeId> out;
  for (const NodeId id : graph.order())
    if (seen.contains(id)) out.push_back(id);
  return out;
}

bool Translator::is_total(const Graph& graph, const Inference& inference, NodeId id) {
  const int number = numbers_.of(graph, id);
  if (const auto known = total_.find(number); known != total_.end()) return known->second;
  const Node& node = graph.node(id);
  bool total = node.kind != NodeKind::Input || !options_.partial_inputs.contains(node.outputs[0]);
  if (node.kind == NodeKind::Operator && !known_constant(graph, {id, 0})) {
    total = !inference.opaque.contains(id);
    const Definition definition = total ? define_node(graph, inference, id) : Definition{};
    const auto* formula = std::get_if<Formula>(&definition);
    total = total && formula != nullptr && !may_be_undefined(graph, id, *formula);
    for (const Value& v : node.inputs) total = total && (!v.exists() || is_total(graph, inference, v.node));
  }
  total_.emplace(number, total);
  return total;
}

void Translator::add_symbol(const Graph& graph, const Inference& inference, Value value) {
  if (!known_.contains(key(graph, value))) {
    const ValueInfo& info = inference.of(value);
    // An unknown type or shape matters only if something reads the value.
    if (info.type == ElementType::Undefined || !info.shape) return;
    known_.emplace(key(graph, value), forms_.tensor(info.type, *info.shape));
  }
  // The second program may use what the first one computes but does not need.
  if (!is_total(graph, inference, value.node)) forms_.answer_for(known_.at(key(graph, value)));
}

void Translator::add_constant(const Graph& graph, Value value, const Tensor& tensor) {
  if (known_.contains(key(graph, value)) || !is_computable(tensor.type())) return;
  // Values that both programs have need not be expanded, unless a law may need their numbers.
  const bool is_cut = options_.cut_common && !options_.use_facts && tensor.count() > 1 &&
                      numbers_.is_common(numbers_.of(graph, value.node));
  if (auto exact = is_cut ? std::nullopt : forms_.constant(tensor)) {
    known_.emplace(key(graph, value), std::move(*exact));
    expanded_.insert(numbers_.of(graph, value.node));
    return;
  }
  Sign sign;
  if (options_.use_facts && is_float(tensor.type()) && tensor.count() <= kMostFactElements &&
      all_positive(tensor)) {
    sign = {.nonnegative = true, .nonzero = true};
    facts_.push_back({.initializer = graph.name_of(value), .positive = true});
  }
  const Tensor plain = without_unit_axes(tensor);
  auto at = std::ranges::find_if(constants_, [&](const auto& c) { return c.first.same_bits(plain); });
  if (at == constants_.end())
    at = constants_.emplace(at, plain, forms_.tensor(plain.type(), to_dims(plain.extents()), sign));
  known_.emplace(key(graph, value), with_unit_axes(at->second, tensor.extents()));
}

// The same tensor with axes of one element among its own.
Form Translator::with_unit_axes(const Form& plain, const Extents& extents) {
  if (plain.axes.size() == extents.size()) return plain;
  FormulaBuilder f({TensorType{plain.type, plain.shape()}});
  const auto p = f.axes(to_dims(extents));
  std::vector<Index> at;
  for (std::size_t k = 0; k < p.size(); ++k)
    if (extents[k] != 1) at.emplace_back(p[k]);
  f.output(p, f.input(0).at(at));
  return forms_.apply(std::move(f).finish(), {plain})[0];
}

void Translator::add_node(const Graph& graph, const Inference& inference, NodeId id) {
  const Node& node = graph.node(id);
  if (const auto constant = known_constant(graph, {id, 0})) {
    add_constant(graph, {id, 0}, *constant);
    return;
  }
  if (is_symbol(graph, inference, {id, 0})) {
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k) add_symbol(graph, inference, {id, k});
    return;
  }
  const int number = numbers_.of(graph, id);
  if (known_.contains(key(graph, {id, 0}))) {
    forms_.answer_for(partial_[number]);
    return;
  }
  const Definition definition = define_node(graph, inference, id);
  const auto* formula = std::get_if<Formula>(&definition);
  if (formula == nullptr) throw Undecided(fmt::format("{} has no formula", label(node)));
  const auto reads = read_inputs(*formula);
  std::vector<std::optional<Form>> inputs(std::max(formula->inputs.size(), node.inputs.size()));
  for (std::size_t k = 0; k < reads.size(); ++k) {
    if (!reads[k]) continue;
    const auto at = known_.find(key(graph, node.inputs[k]));
    if (at == known_.end()) throw Undecided(unknown_value(graph, node.inputs[k]));
    inputs[k] = at->second;
  }
  const std::size_t mark = forms_.mark();
  const auto forms = forms_.apply(*formula, inputs);
  partial_[number] = forms_.partial_since(mark);
  for (std::uint32_t k = 0; k < forms.size(); ++k)
    known_.emplace(key(graph, {id, k}), options_.seal ? forms_.sealed(forms[k]) : forms[k]);
}

// The integers as they are compared with positions; nullopt: nothing is known of them.
std::optional<NormalForms::Indices> Translator::indices(const Graph& graph, Value value,
                                                        const IndexRange& range) {
  const auto at = known_.find(key(graph, value));
  if (at == known_.end()) return std::nullopt;
  const Form& all = at->second;
  FormulaBuilder f({TensorType{all.type, all.shape()}});
  Dims shape = all.shape();
  if (range.place) shape.pop_back();
  const auto p = f.axes(shape);
  std::vector<Index> position = to_indices(p);
  if (range.place) position.emplace_back(*range.place);
  f.output(p, cast(f.input(0).at(position), ElementType::Int64));
  return NormalForms::Indices{forms_.apply(std::move(f).finish(), {all})[0], range.extent};
}

namespace {

// Whether all of a constant's elements, or those at one place of its last axis, point into an axis that is at
// least so long.
bool points_inside(const Tensor& constant, const IndexRange& range) {
  const auto values = constant.integers();
  if (!values) return false;
  const auto last = constant.rank() > 0 ? static_cast<std::size_t>(constant.extents().back()) : 1;
  for (std::size_t i = 0; i < values->size(); ++i) {
    if (range.place && i % last != static_cast<std::size_t>(*range.place)) continue;
    const std::int64_t v = (*values)[i];
    if (range.extent.at_least(Dim(v < 0 ? -v : v + 1)) != true) return false;
  }
  return true;
}

}  // namespace

bool Translator::indices_follow(const Graph& a, const Inference& a_info, const Graph& b,
                                const Inference& b_info) {
  if (b_info.ranges.empty()) return true;
  std::optional<std::vector<NormalForms::Indices>> known;
  const std::set<NodeId> needed = needed_nodes(b);
  for (const auto& [id, ranges] : b_info.ranges) {
    if (!needed.contains(id) || numbers_.is_common(numbers_.of(b, id))) continue;
    for (const IndexRange& range : ranges) {
      const Value value = b.node(id).inputs[static_cast<std::size_t>(range.input)];
      if (const auto constant = known_constant(b, value); constant && points_inside(*constant, range))
        continue;
      if (!known) {
        known.emplace();
        const std::set<NodeId> needed_in_a = needed_nodes(a);
        for (const auto& [other, of_a] : a_info.ranges)
          for (const IndexRange& r : of_a)
            if (needed_in_a.contains(other))
              if (auto made = indices(a, a.node(other).inputs[static_cast<std::size_t>(r.input)], r))
                known->push_back(std::move(*made));
      }
      const auto asked = indices(b, value, range);
      if (!asked || !forms_.are_indices(*asked, *known)) return false;
    }
  }
  return true;
}

void Translator::answer_for(const Graph& graph, const Inference& inference, Value output) {
  for (const NodeId id : needed(graph, inference, {output})) add_node(graph, inference, id);
}

std::vector<Form> Translator::outputs(const Graph& graph, const Inference& inference) {
  for (const NodeId id : needed(graph, inference, graph.outputs())) add_node(graph, inference, id);
  std::vector<Form> out;
  for (const Value& v : graph.outputs()) {
    const auto at = known_.find(key(graph, v));
    if (at == known_.end()) throw Undecided(unknown_value(graph, v));
    out.push_back(at->second);
  }
  return out;
}

}  // namespace isomer
