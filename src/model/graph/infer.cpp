#include "model/graph/infer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "model/eval/element.h"
#include "model/eval/program.h"
#include "model/graph/call.h"
#include "model/graph/constant.h"
#include "model/graph/infer_bodies.h"
#include "model/graph/last_digits.h"
#include "model/graph/opaque_outputs.h"
#include "model/graph/symbols.h"

namespace isomer {
namespace {

// The elements of a small tensor of integers. A uint64 beyond 2^63 is no extent.
std::optional<Dims> integers_of(const Tensor& tensor) {
  if (tensor.count() > kMostIntegers) return std::nullopt;
  const auto integers = tensor.integers();
  const bool is_beyond = integers && tensor.type() == ElementType::Uint64 &&
                         std::ranges::any_of(*integers, [](std::int64_t v) { return v < 0; });
  return integers && !is_beyond ? std::optional(to_dims(*integers)) : std::nullopt;
}

ValueInfo info_of(const Tensor& tensor) {
  return {tensor.type(), to_dims(tensor.extents()), integers_of(tensor)};
}

// Why a formula can't be requested, if something about an input is not known.
std::optional<Opaque> refuse_unknown(const Graph& graph, Value input, const ValueInfo& info) {
  if (info.type == ElementType::Undefined)
    return Opaque{fmt::format("the type of {} is not known", graph.name_of(input))};
  if (!info.shape) return Opaque{fmt::format("the shape of {} is not known", graph.name_of(input))};
  return std::nullopt;
}

bool is_small(const Dims& shape, std::int64_t most = kMostIntegers) {
  const auto extents = concrete(shape);
  const auto count = extents ? element_count(*extents) : std::nullopt;
  return count && *count <= most;
}

bool may_follow_integers(const TensorType& type) {
  return (is_integer(type.type) || type.type == ElementType::Bool) && is_small(type.shape);
}

// A small value that is known from constants and extents.
std::optional<Tensor> known_value(const Graph& graph, Value value, const ValueInfo& info) {
  if (info.constant) return info.constant;
  if (!info.shape || !is_small(*info.shape)) return std::nullopt;
  const auto integers = info.integers ? concrete(*info.integers) : std::nullopt;
  if (integers) return convert(Tensor::of(ElementType::Int64, *concrete(*info.shape), *integers), info.type);
  return known_constant(graph, value);
}

using MaybeTensors = std::vector<std::optional<Tensor>>;

// Whether float64 computes the same numbers.
bool is_exact(const Formula& formula, const MaybeTensors& inputs, const std::vector<Tensor>& outputs) {
  MaybeTensors lifted = inputs;
  for (auto& t : lifted)
    if (t && is_float(t->type())) t = convert(*t, ElementType::Double);
  const auto again = Program::compile(lift(formula, ElementType::Double)).run(lifted);
  if (!again.ok()) return false;
  for (std::size_t k = 0; k < outputs.size(); ++k)
    if (is_float(outputs[k].type()) && !convert(outputs[k], ElementType::Double).same_bits((*again)[k]))
      return false;
  return true;
}

// Whether it adds floats, or has a function of them that may make a small error a large one.
bool may_lose_digits(const ExprNode& e) {
  if (e.kind == ExprNode::Kind::Apply && is_float(e.type)) {
    switch (e.fn) {
      case Fn::Mul:
      case Fn::Div:
      case Fn::Neg:
      case Fn::Abs:
      case Fn::Relu:
      case Fn::Sign:
      case Fn::Sqrt:
      case Fn::Max:
      case Fn::Min:
      case Fn::Floor:
      case Fn::Ceil:
      case Fn::Round:
      case Fn::Where:
      case Fn::Cast: break;
      default: return true;
    }
  }
  if (e.kind == ExprNode::Kind::Reduce && is_float(e.type) && e.reduction == Reduction::Sum) return true;
  return std::ranges::any_of(e.args, [](const ExprRef& a) { return may_lose_digits(*a); }) ||
         std::ranges::any_of(e.cases, [](const ExprNode::Case& c) { return may_lose_digits(*c.value); });
}

// Whether what is computed has the digits that it should: (5 + 1e8) - 1e8 is 8 in float32. Sums of numbers
// of these sizes are exact in float64, so that float32 can be held against it.
bool keeps_digits(const Formula& formula, const MaybeTensors& inputs, const std::vector<Tensor>& outputs) {
  if (std::ranges::none_of(formula.stages, [](const Stage& s) { return may_lose_digits(*s.value); }))
    return true;
  for (const auto& t : inputs) {
    if (!t || !is_float(t->type())) continue;
    const auto numbers = t->doubles();
    const auto is_usual = [](double v) {
      return v == 0 || (std::abs(v) >= 0x1p-10 && std::abs(v) <= 0x1p18);
    };
    if (!numbers || !std::ranges::all_of(*numbers, is_usual)) return false;
  }
  return is_exact(formula, inputs, outputs);
}

// Values that were computed as this machine does, and others may do with other last digits.
using Open = std::set<Value>;

// The outputs of a formula whose inputs are all known and small, or made of such; none where it can't be
// computed, or where digits decide that are open. Reductions of small tensors are short, so the stages' sizes
// bound the work.
struct Folded {
  std::vector<Tensor> outputs;
  bool is_open = false;
};
Folded fold(const Graph& graph, const Inference& inference, const Node& node, const Formula& formula,
            std::int64_t most_made, const Open& open) {
  const auto fits = [&](std::int64_t most) {
    return std::ranges::all_of(formula.stages, [&](const Stage& s) { return is_small(s.shape(), most); });
  };
  const bool is_large = !fits(kMostIntegers);
  if (is_large && !fits(most_made)) return {};
  std::vector<std::optional<Tensor>> values(formula.inputs.size());
  for (std::size_t k = 0; k < node.inputs.size() && k < values.size(); ++k) {
    if (!node.inputs[k].exists()) continue;
    values[k] = known_value(graph, node.inputs[k], inference.of(node.inputs[k]));
    if (!values[k]) return {};
  }
  const Program program = Program::compile(formula);
  auto outputs = program.run(values);
  if (!outputs.ok() || !keeps_digits(formula, values, *outputs) ||
      (is_large && !is_exact(formula, values, *outputs)))
    return {};
  const bool has_agreed = has_agreed_digits(formula);
  std::vector<bool> is_open(values.size(), !has_agreed);
  for (std::size_t k = 0; k < values.size() && k < node.inputs.size(); ++k)
    if (open.contains(node.inputs[k])) is_open[k] = true;
  if (std::ranges::find(is_open, true) == is_open.end()) return {*std::move(outputs)};
  if (!is_continuous(formula, node)) {
    if (last_digits_decide(program, values, is_open, *outputs)) return {};
    return {*std::move(outputs)};
  }
  const bool is_from_open = std::ranges::any_of(node.inputs, [&](Value v) { return open.contains(v); });
  const bool is_sure = !is_from_open && (is_large || is_exact(formula, values, *outputs));
  return {*std::move(outputs), !is_sure};
}

class Inferrer {
 public:
  Inferrer(const Graph& graph, const InferOptions& options, Symbols& symbols)
      : graph_(graph), options_(options), symbols_(symbols), products_(options.extent_bits) {}

  Result<Inference> run();

 private:
  Status bind();
  Status add_operator(NodeId id, const Node& node);
  Status add_opaque(NodeId id, const Node& node, std::string reason);
  ElementType declared_type(const std::string& value) const;
  Status check_declared(const Node& node, std::size_t output, ElementType type) const;
  ValueInfo declared(const std::string& value, const DeclaredType& type);
  ValueInfo input(const Node& node);
  ValueInfo initializer(NodeId id, const Node& node);
  Status add_outputs(NodeId id, const Node& node, const Formula& formula);

  const Graph& graph_;
  const InferOptions& options_;
  Symbols& symbols_;
  SymbolProducts products_;  // of the shapes so far
  Open open_;
  Inference inference_;
};

Status Inferrer::bind() {
  for (const auto& [symbol, value] : options_.symbols) {
    if (value < 0) return Error{fmt::format("dimension {} can't be {}", symbol, value)};
    symbols_.bind(symbol, value);
  }
  std::map<std::string_view, const Node*> inputs;
  for (const Value& input : graph_.inputs()) inputs.emplace(graph_.name_of(input), &graph_.node(input.node));
  for (const auto& [name, extents] : options_.shapes) {
    const auto at = inputs.find(name);
    if (at == inputs.end()) return Error{fmt::format("no input is named {}", name)};
    ISOMER_TRY_DO(symbols_.bind(name, at->second->declared, extents));
  }
  return Done{};
}

ValueInfo Inferrer::declared(const std::string& value, const DeclaredType& type) {
  if (!type.is_tensor) return {};
  ValueInfo info{type.type, symbols_.shape(value, type), std::nullopt};
  if (const auto at = options_.shapes.find(value); at != options_.shapes.end())
    info.shape = to_dims(at->second);
  return info;
}

// The facts about a body's input come from outside, except the element type.
ValueInfo Inferrer::input(const Node& node) {
  if (options_.outside == nullptr) return declared(node.outputs[0], node.declared);
  const auto known = options_.known.find(node.outputs[0]);
  ValueInfo info = known == options_.known.end() ? ValueInfo{} : known->second;
  if (info.type == ElementType::Undefined && node.declared.is_tensor) info.type = node.declared.type;
  return info;
}

ValueInfo Inferrer::initializer(NodeId id, const Node& node) {
  if (!graph_.is_overridable(id)) return info_of(node.tensor);
  if (node.declared.type != ElementType::Undefined) return declared(node.outputs[0], node.declared);
  return {node.tensor.type(), to_dims(node.tensor.extents()), std::nullopt};
}

ElementType Inferrer::declared_type(const std::string& value) const {
  const auto at = graph_.declared().find(value);
  return at != graph_.declared().end() && at->second.is_tensor ? at->second.type : ElementType::Undefined;
}

// Error: the file declares another element type. Runtimes refuse such a model.
Status Inferrer::check_declared(const Node& node, std::size_t output, ElementType type) const {
  const ElementType declared = declared_type(node.outputs[output]);
  if (declared == ElementType::Undefined || type == ElementType::Undefined || declared == type) return Done{};
  return Error{fmt::format("{}: {} is declared {} but is {}", label(node), node.outputs[output],
                           name(declared), name(type)),
               label(node)};
}

Status Inferrer::add_opaque(NodeId id, const Node& node, std::string reason) {
  std::vector<ValueInfo> infos = opaque_outputs(graph_, inference_, symbols_, node);
  if (BodyInference inside = infer_bodies(graph_, inference_, symbols_, node, options_.depth);
      !inside.bodies.empty()) {
    infos = std::move(inside.outputs);
    inference_.bodies.emplace(id, std::move(inside.bodies));
  }
  for (std::size_t k = 0; k < infos.size(); ++k) {
    ISOMER_TRY_DO(check_declared(node, k, infos[k].type));
    if (infos[k].type == ElementType::Undefined) infos[k].type = declared_type(node.outputs[k]);
  }
  inference_.values.emplace(id, std::move(infos));
  inference_.opaque.emplace(id, std::move(reason));
  return Done{};
}

Status Inferrer::add_outputs(NodeId id, const Node& node, const Formula& formula) {
  std::vector<std::optional<Dims>> integers;
  std::vector<ValueInfo> infos(node.outputs.size());
  for (std::size_t k = 0; k < infos.size() && k < formula.outputs.size(); ++k) {
    TensorType type = formula.output_type(static_cast<int>(k));
    const bool follow = may_follow_integers(type);
    ISOMER_TRY_DO(check_declared(node, k, type.type));
    infos[k] = {type.type, std::move(type.shape), std::nullopt};
    if (!follow) continue;
    if (integers.empty())
      for (const Value& input : node.inputs) integers.push_back(inference_.of(input).integers);
    integers.resize(formula.inputs.size());
    infos[k].integers = evaluate_symbolic(formula, static_cast<int>(k), integers, kMostIntegers, products_);
  }
  if (!formula.conditions.empty()) inference_.conditions.emplace(id, formula.conditions);
  if (!formula.ranges.empty()) inference_.ranges.emplace(id, formula.ranges);
  const auto unknown = [](const ValueInfo& info) { return !info.integers; };
  if (std::ranges::any_of(infos, unknown)) {
    auto [folded, is_open] = fold(graph_, inference_, node, formula, options_.most_made, open_);
    for (std::size_t k = 0; k < infos.size() && k < folded.size(); ++k) {
      if (infos[k].integers) continue;
      infos[k].integers = integers_of(folded[k]);
      infos[k].constant = std::move(folded[k]);
      if (is_open) open_.insert({id, static_cast<std::uint32_t>(k)});
    }
  }
  inference_.values.emplace(id, std::move(infos));
  return Done{};
}

Status Inferrer::add_operator(NodeId id, const Node& node) {
  if (is_constant_node(node)) {
    auto constant = constant_of(node);
    if (const auto* invalid = std::get_if<Invalid>(&constant)) return error_of(node, *invalid);
    if (const auto* opaque = std::get_if<Opaque>(&constant))
      ISOMER_TRY_DO(add_opaque(id, node, opaque->reason));
    else inference_.values[id] = {info_of(std::get<Tensor>(constant))};
    // A sparse one says its type itself.
    if (node.declared.shape && !node.outputs.empty())
      inference_.values[id] = {declared(node.outputs[0], node.declared)};
    return node.outputs.empty() ? Status(Done{}) : check_declared(node, 0, inference_.of({id, 0}).type);
  }
  const Definition definition = define_node(graph_, inference_, id);
  if (const auto* invalid = std::get_if<Invalid>(&definition)) return error_of(node, *invalid);
  if (const auto* opaque = std::get_if<Opaque>(&definition))
    ISOMER_TRY_DO(add_opaque(id, node, opaque->reason));
  else ISOMER_TRY_DO(add_outputs(id, node, std::get<Formula>(definition)));
  return Done{};
}

Result<Inference> Inferrer::run() {
  ISOMER_TRY_DO(bind());
  inference_.values.reserve(graph_.order().size());
  // Inputs first: a dim of theirs that has no name gets the same one whatever the rest of the graph is.
  for (const bool inputs : {true, false})
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      if ((node.kind == NodeKind::Operator) == inputs) continue;
      if (node.kind == NodeKind::Input) {
        inference_.values[id] = {input(node)};
        if (inference_.of({id, 0}).constant) open_.insert({id, 0});  // its constant value is used
      } else if (node.kind == NodeKind::Initializer) {
        inference_.values[id] = {initializer(id, node)};
      } else {
        ISOMER_TRY_DO(add_operator(id, node));
      }
      for (const ValueInfo& info : inference_.values.at(id))
        if (info.shape) products_.add(*info.shape);
    }
  return std::move(inference_);
}

}  // namespace

std::optional<Extents> concrete_shape(const ValueInfo& info) {
  return info.shape ? concrete(*info.shape) : std::nullopt;
}

const ValueInfo& Inference::of(Value value) const {
  static const ValueInfo nothing;
  if (!value.exists()) return nothing;
  const auto at = values.find(value.node);
  ISOMER_CHECK(at != values.end() && value.output < at->second.size(), "a value that was not inferred");
  return at->second[value.output];
}

Result<Inference> infer(const Graph& graph, const InferOptions& options) {
  if (options.outside != nullptr) return Inferrer(graph, options, *options.outside).run();
  Symbols symbols(graph);
  for (const std::string& name : options.taken) symbols.take(name);
  auto inference = Inferrer(graph, options, symbols).run();
  if (inference.ok()) inference->made = symbols.made();
  return inference;
}

Definition define_node(const Graph& graph, const Inference& inference, NodeId id,
                       const std::vector<bool>& unseen) {
  const auto is_unseen = [&](std::size_t k) { return k < unseen.size() && unseen[k]; };
  const Node& node = graph.node(id);
  if (is_constant_node(node)) return Opaque{"a constant"};
  const auto op = operator_of(graph, node);
  if (const auto* opaque = std::get_if<Opaque>(&op)) return *opaque;
  Call call = call_without_inputs(graph, node);
  for (const Value& input : node.inputs) {
    if (!input.exists()) {
      call.inputs.emplace_back();
      continue;
    }
    const ValueInfo& info = inference.of(input);
    if (const auto unknown = refuse_unknown(graph, input, info)) return *unknown;
    call.inputs.push_back(Call::Input{{info.type, *info.shape}});
    if (is_unseen(call.inputs.size() - 1)) continue;
    call.inputs.back()->integers = info.integers;
    call.inputs.back()->constant = known_constant(graph, input);
  }
  Definition definition = define(*std::get<const Operator*>(op), call);
  if (!std::holds_alternative<Opaque>(definition)) return definition;
  // Values that were computed serve only where nothing can be said without them: elsewhere they stay reads.
  bool knows_more = false;
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    const auto& computed = inference.of(node.inputs[k]).constant;
    if (!call.inputs[k] || call.inputs[k]->constant || !computed || is_unseen(k)) continue;
    call.inputs[k]->constant = computed;
    knows_more = true;
  }
  return knows_more ? define(*std::get<const Operator*>(op), call) : definition;
}

}  // namespace isomer
