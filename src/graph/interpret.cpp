#include "graph/interpret.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <ranges>
#include <unordered_map>
#include <unordered_set>

#include "algebra/program.h"
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
    for (const auto* values : {&graph.node(id).inputs, &graph.node(id).captures})
      for (const Value& value : *values) live.insert(value.node);
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

// Equal tensors, one after the other along a new first axis.
Tensor stacked(const std::vector<Argument>& parts) {
  const Tensor& first = parts.front().tensor;
  Extents extents = first.extents();
  extents.insert(extents.begin(), static_cast<std::int64_t>(parts.size()));
  const std::size_t each = first.bytes().size;
  Buffer buffer(each * parts.size());
  for (std::size_t k = 0; k < parts.size(); ++k)
    if (each > 0) std::memcpy(buffer.data() + k * each, parts[k].tensor.bytes().data, each);
  return {first.type(), std::move(extents), std::move(buffer).freeze()};
}

constexpr std::int64_t kMostTrips = 10'000'000;  // of a loop: hours, on the reference engine

// The number in an argument that is a scalar; `otherwise` where it is absent.
std::int64_t count_of(const Arguments& arguments, std::size_t k, std::int64_t otherwise) {
  const auto numbers = k < arguments.size() && arguments[k] ? arguments[k]->tensor.integers() : std::nullopt;
  return numbers && numbers->size() == 1 ? numbers->front() : otherwise;
}

using Given = std::unordered_map<NodeId, Argument>;  // inputs of a body
using Step = Result<std::optional<OpaqueNode>>;

class Run {
 public:
  Run(const Graph& graph, const NamedTensors& feeds, Arithmetic arithmetic, std::optional<Given> given = {})
      : graph_(graph),
        feeds_(feeds),
        is_body_(given.has_value()),
        given_(std::move(given).value_or(Given{})),
        arithmetic_(arithmetic),
        programs_(graph, arithmetic),
        live_(live_nodes(graph)) {}

  Result<RunOutcome> run();
  Step execute();
  const Argument& fetch(Value value);

 private:
  void count_uses();
  Tensor lifted(const Tensor& tensor) const;
  std::optional<OpaqueNode> missing(NodeId id, const Node& node) const;
  void release(Value value);
  bool is_given(Value value) const;
  Arguments arguments_of(const Node& node);
  Step step(NodeId id, const Node& node);
  const Body* body_of(const Node& node);
  Step run_body(const Node& node, const Body& body, const Arguments& passed, std::vector<Argument>& outputs);
  Step run_once(NodeId id, const Node& node, const Body& body);
  Step run_loop(NodeId id, const Node& node);

  const Graph& graph_;
  const NamedTensors& feeds_;
  bool is_body_;
  Given given_;
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
    for (const auto* values : {&graph_.node(id).inputs, &graph_.node(id).captures})
      for (const Value& value : *values)
        if (value.exists()) ++held_[value.node][value.output].uses;
  }
  for (const Value& output : graph_.outputs()) ++held_[output.node][output.output].uses;
}

Tensor Run::lifted(const Tensor& tensor) const {
  if (arithmetic_ == Arithmetic::Native || !is_float(tensor.type())) return tensor;
  return convert(tensor, arithmetic_ == Arithmetic::Double ? ElementType::Double : ElementType::Field);
}

// An input that can't be fed: it is no tensor.
std::optional<OpaqueNode> Run::missing(NodeId id, const Node& node) const {
  const bool is_absent = node.kind == NodeKind::Input && live_.contains(id);
  if (!is_absent || is_body_ || feeds_.contains(node.outputs[0])) return std::nullopt;
  return OpaqueNode{node.outputs[0], "", "the input is not a tensor"};
}

// A value that is needed now. Feeds and initializers are taken into the run's arithmetic when first asked
// for.
const Argument& Run::fetch(Value value) {
  Held& held = held_[value.node][value.output];
  if (held.value) return *held.value;
  const Node& node = graph_.node(value.node);
  if (const auto given = given_.find(value.node); given != given_.end()) {
    held.value = given->second;
    return *held.value;
  }
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

// A function's input that a call leaves out is absent wherever it is read.
bool Run::is_given(Value value) const {
  if (!value.exists()) return false;
  return !is_body_ || graph_.node(value.node).kind != NodeKind::Input || given_.contains(value.node);
}

Arguments Run::arguments_of(const Node& node) {
  Arguments arguments;
  for (const Value& input : node.inputs)
    arguments.push_back(is_given(input) ? std::optional(fetch(input)) : std::nullopt);
  return arguments;
}

// The body that stands for the whole node: a function's, or the branch that an If takes.
const Body* Run::body_of(const Node& node) {
  if (node.bodies.empty()) return nullptr;
  if (node.bodies[0].attribute.empty()) return &node.bodies[0];
  if (!node.domain.empty() || node.op != "If" || node.inputs.empty() || !is_given(node.inputs[0]))
    return nullptr;
  const auto condition = fetch(node.inputs[0]).tensor.integers();
  if (!condition || condition->size() != 1) return nullptr;
  const std::string_view branch = condition->front() != 0 ? "then_branch" : "else_branch";
  const auto at = std::ranges::find(node.bodies, branch, &Body::attribute);
  return at == node.bodies.end() ? nullptr : &*at;
}

Step Run::run_body(const Node& node, const Body& body, const Arguments& passed,
                   std::vector<Argument>& outputs) {
  Given given;
  const auto& inputs = body.graph->inputs();
  const std::size_t parameters = inputs.size() - body.captured.size();
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (k >= parameters) {
      const Value outer = node.captures[body.captured[k - parameters]];
      if (is_given(outer)) given.emplace(inputs[k].node, fetch(outer));
    } else if (k < passed.size() && passed[k]) {
      given.emplace(inputs[k].node, *passed[k]);
    }
  }
  Run inside(*body.graph, feeds_, arithmetic_, std::move(given));
  ISOMER_TRY(auto opaque, inside.execute());
  if (opaque) return opaque;
  for (const Value& output : body.graph->outputs()) {
    if (!inside.is_given(output))
      return std::optional(OpaqueNode{label(node), node.op, "a body puts out an input that is absent"});
    outputs.push_back(inside.fetch(output));
  }
  return std::optional<OpaqueNode>();
}

Step Run::run_once(NodeId id, const Node& node, const Body& body) {
  const bool is_call = body.attribute.empty();
  std::vector<Argument> results;
  ISOMER_TRY(auto opaque, run_body(node, body, is_call ? arguments_of(node) : Arguments{}, results));
  if (opaque) return opaque;
  std::vector<Held>& outputs = held_[id];
  for (std::size_t k = 0; k < outputs.size() && k < results.size(); ++k)
    if (outputs[k].uses > 0) outputs[k].value = std::move(results[k]);
  return std::optional<OpaqueNode>();
}

// Runs the body until the trip count or its own condition ends it. Its outputs: the condition, what is
// carried, then what is collected along a new axis.
Step Run::run_loop(NodeId id, const Node& node) {
  const auto scalar = [](std::int64_t value, ElementType type) {
    return Argument{type, convert(Tensor::of(ElementType::Int64, {}, std::vector{value}), type)};
  };
  const Arguments given = arguments_of(node);
  const std::int64_t most = count_of(given, 0, kMostTrips);
  bool goes_on = count_of(given, 1, 1) != 0;
  Arguments passed(2);
  for (std::size_t k = 2; k < given.size(); ++k) passed.push_back(given[k]);
  const std::size_t carried = passed.size() - 2;
  std::vector<std::vector<Argument>> collected(node.outputs.size());
  for (std::int64_t trip = 0; trip < most && goes_on; ++trip) {
    passed[0] = scalar(trip, ElementType::Int64);
    passed[1] = scalar(1, ElementType::Bool);
    std::vector<Argument> results;
    ISOMER_TRY(auto opaque, run_body(node, node.bodies[0], passed, results));
    if (opaque) return opaque;
    goes_on = count_of({results.at(0)}, 0, 0) != 0;
    if (trip + 1 == kMostTrips) return std::optional(OpaqueNode{label(node), node.op, "it does not end"});
    for (std::size_t k = 0; k + 1 < results.size(); ++k) {
      if (k < carried) passed[k + 2] = std::move(results[k + 1]);
      else collected[k].push_back(std::move(results[k + 1]));
    }
  }
  std::vector<Held>& outputs = held_[id];
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (outputs[k].uses == 0) continue;
    if (k < carried) {
      outputs[k].value = passed[k + 2];
      continue;
    }
    const auto differs = [&](const Argument& a) {
      return a.tensor.extents() != collected[k][0].tensor.extents();
    };
    if (collected[k].empty() || std::ranges::any_of(collected[k], differs))
      return std::optional(OpaqueNode{label(node), node.op, "nothing, or different shapes, are collected"});
    outputs[k].value = Argument{collected[k][0].type, stacked(collected[k])};
  }
  return std::optional<OpaqueNode>();
}

Step Run::step(NodeId id, const Node& node) {
  std::vector<Held>& outputs = held_[id];
  if (const Body* body = body_of(node)) return run_once(id, node, *body);
  if (node.domain.empty() && node.op == "Loop" && node.bodies.size() == 1) return run_loop(id, node);
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

Step Run::execute() {
  count_uses();
  for (const NodeId id : graph_.order()) {
    const Node& node = graph_.node(id);
    if (auto opaque = missing(id, node)) return opaque;
    if (node.kind != NodeKind::Operator || !live_.contains(id)) continue;
    ISOMER_TRY(auto opaque, step(id, node));
    if (opaque) return opaque;
    for (const auto* values : {&node.inputs, &node.captures})
      for (const Value& value : *values)
        if (value.exists()) release(value);
  }
  return std::optional<OpaqueNode>();
}

Result<RunOutcome> Run::run() {
  ISOMER_TRY(auto opaque, execute());
  if (opaque) return RunOutcome{{}, std::move(opaque)};
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
