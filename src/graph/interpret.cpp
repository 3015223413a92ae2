#include "graph/interpret.h"

#include <fmt/format.h>

#include <ranges>
#include <unordered_map>
#include <unordered_set>

#include "graph/call.h"
#include "graph/constant.h"
#include "graph/program_cache.h"
#include "graph/spelling.h"
#include "graph/symbols.h"

namespace isomer {
namespace {

// Operators whose outputs some graph output depends on.
std::unordered_set<NodeId> live_nodes(const Graph& graph) {
  std::unordered_set<NodeId> live;
  for (const Value& output : graph.outputs()) live.insert(output.node);
  for (const NodeId id : std::views::reverse(graph.order())) {
    if (!live.contains(id)) continue;
    for (const Value& input : graph.node(id).inputs) live.insert(input.node);
  }
  return live;
}

Status check_feeds(const Graph& graph, const NamedTensors& feeds) {
  Symbols symbols(graph);
  std::size_t used = 0;
  for (const Value& input : graph.inputs()) {
    const Node& node = graph.node(input.node);
    const std::string& name = graph.name_of(input);
    const auto feed = feeds.find(name);
    if (feed == feeds.end()) {
      if (node.kind == NodeKind::Initializer || !node.declared.is_tensor) continue;
      return Error{fmt::format("input {}: not given, expected {}", name, spelled(node.declared))};
    }
    ++used;
    const Tensor& given = feed->second;
    const ElementType type = node.kind == NodeKind::Initializer ? node.tensor.type() : node.declared.type;
    if (type != ElementType::Undefined && type != given.type())
      return Error{
          fmt::format("input {}: expected {}, got {}", name, isomer::name(type), isomer::name(given.type()))};
    ISOMER_TRY_DO(symbols.bind(name, node.declared, given.extents()));
  }
  if (used == feeds.size()) return Done{};
  std::unordered_set<std::string_view> names;
  for (const Value& input : graph.inputs()) names.insert(graph.name_of(input));
  for (const auto& [name, tensor] : feeds)
    if (!names.contains(name)) return Error{fmt::format("no input is named {}", name)};
  return Done{};
}

class Run {
 public:
  Run(const Graph& graph, const NamedTensors& feeds, Arithmetic arithmetic)
      : graph_(graph),
        feeds_(feeds),
        arithmetic_(arithmetic),
        programs_(graph, arithmetic),
        live_(live_nodes(graph)) {}

  Result<RunOutcome> run();

 private:
  void count_uses();
  Tensor lifted(const Tensor& tensor) const;
  std::optional<OpaqueNode> missing(NodeId id, const Node& node) const;
  const Argument& fetch(Value value);
  void release(Value value);
  Arguments arguments_of(const Node& node);
  Result<std::optional<OpaqueNode>> step(NodeId id, const Node& node);

  const Graph& graph_;
  const NamedTensors& feeds_;
  Arithmetic arithmetic_;
  ProgramCache programs_;
  std::unordered_set<NodeId> live_;
  struct Held {
    std::optional<Argument> value;
    std::uint32_t uses = 0;  // still to come
  };
  std::unordered_map<NodeId, std::vector<Held>> held_;
};

void Run::count_uses() {
  for (const NodeId id : graph_.order())
    if (live_.contains(id)) held_[id].resize(graph_.node(id).outputs.size());
  for (const NodeId id : graph_.order()) {
    if (!live_.contains(id)) continue;
    for (const Value& input : graph_.node(id).inputs)
      if (input.exists()) ++held_[input.node][input.output].uses;
  }
  for (const Value& output : graph_.outputs()) ++held_[output.node][output.output].uses;
}

Tensor Run::lifted(const Tensor& tensor) const {
  if (arithmetic_ == Arithmetic::Native || !is_float(tensor.type())) return tensor;
  return convert(tensor, arithmetic_ == Arithmetic::Double ? ElementType::Double : ElementType::Field);
}

// An input that can't be fed: it is no tensor.
std::optional<OpaqueNode> Run::missing(NodeId id, const Node& node) const {
  if (node.kind != NodeKind::Input || !live_.contains(id) || feeds_.contains(node.outputs[0]))
    return std::nullopt;
  return OpaqueNode{node.outputs[0], "", "the input is not a tensor"};
}

// A value that is needed now. Feeds and initializers are taken into the run's arithmetic when first asked
// for.
const Argument& Run::fetch(Value value) {
  Held& held = held_[value.node][value.output];
  if (held.value) return *held.value;
  const Node& node = graph_.node(value.node);
  const auto feed = node.kind == NodeKind::Operator ? feeds_.end() : feeds_.find(node.outputs[0]);
  const bool is_fed =
      feed != feeds_.end() && (node.kind == NodeKind::Input || graph_.is_overridable(value.node));
  ISOMER_CHECK(is_fed || node.kind == NodeKind::Initializer, "a value is read before it is computed");
  const Tensor& tensor = is_fed ? feed->second : node.tensor;
  held.value = Argument{tensor.type(), lifted(tensor), is_fed ? std::nullopt : std::optional(tensor)};
  return *held.value;
}

void Run::release(Value value) {
  Held& held = held_[value.node][value.output];
  if (--held.uses == 0) held.value.reset();
}

Arguments Run::arguments_of(const Node& node) {
  Arguments arguments;
  for (const Value& input : node.inputs)
    arguments.push_back(input.exists() ? std::optional(fetch(input)) : std::nullopt);
  return arguments;
}

Result<std::optional<OpaqueNode>> Run::step(NodeId id, const Node& node) {
  std::vector<Held>& outputs = held_[id];
  if (is_constant_node(node)) {
    auto constant = constant_of(node);
    if (const auto* invalid = std::get_if<Invalid>(&constant)) return error_of(node, *invalid);
    if (const auto* opaque = std::get_if<Opaque>(&constant))
      return std::optional(OpaqueNode{label(node), node.op, opaque->reason});
    const Tensor& tensor = std::get<Tensor>(constant);
    outputs[0].value = Argument{tensor.type(), lifted(tensor), tensor};
    return std::optional<OpaqueNode>();
  }
  const Arguments arguments = arguments_of(node);
  const auto answer = programs_.find(node, arguments);
  if (const auto* invalid = std::get_if<Invalid>(&answer)) return error_of(node, *invalid);
  if (const auto* opaque = std::get_if<Opaque>(&answer))
    return std::optional(OpaqueNode{label(node), node.op, opaque->reason});
  const Compiled& compiled = *std::get<std::shared_ptr<const Compiled>>(answer);

  std::vector<std::optional<Tensor>> tensors(compiled.inputs);
  for (std::size_t k = 0; k < tensors.size() && k < arguments.size(); ++k)
    if (arguments[k]) tensors[k] = arguments[k]->tensor;
  auto results = compiled.program.run(tensors);
  if (!results.ok()) return Error{fmt::format("{}: {}", label(node), results.error().message), label(node)};
  for (std::size_t k = 0; k < results->size() && k < outputs.size(); ++k)
    if (outputs[k].uses > 0) outputs[k].value = Argument{compiled.types[k], std::move((*results)[k])};
  for (std::size_t k = 0; k < outputs.size(); ++k)
    if (outputs[k].uses > 0 && !outputs[k].value)
      return std::optional(OpaqueNode{label(node), node.op, fmt::format("output {} is not modelled", k)});
  return std::optional<OpaqueNode>();
}

Result<RunOutcome> Run::run() {
  count_uses();
  for (const NodeId id : graph_.order()) {
    const Node& node = graph_.node(id);
    if (auto opaque = missing(id, node)) return RunOutcome{{}, std::move(opaque)};
    if (node.kind != NodeKind::Operator || !live_.contains(id)) continue;
    ISOMER_TRY(auto opaque, step(id, node));
    if (opaque) return RunOutcome{{}, std::move(opaque)};
    for (const Value& input : node.inputs)
      if (input.exists()) release(input);
  }
  RunOutcome outcome;
  for (const Value& output : graph_.outputs())
    outcome.outputs.insert_or_assign(graph_.name_of(output), fetch(output).tensor);
  return outcome;
}

}  // namespace

Result<RunOutcome> interpret(const Graph& graph, const NamedTensors& feeds, Arithmetic arithmetic) {
  ISOMER_TRY_DO(check_feeds(graph, feeds));
  return Run(graph, feeds, arithmetic).run();
}

}  // namespace isomer
