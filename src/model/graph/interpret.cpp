#include "model/graph/interpret.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "model/eval/program.h"
#include "model/graph/call.h"
#include "model/graph/constant.h"
#include "model/graph/last_digits.h"
#include "model/graph/live_nodes.h"
#include "model/graph/program_cache.h"
#include "model/graph/symbols.h"
#include "model/graph/text/spelling.h"

namespace isomer {
namespace {

Status check_feeds(const Graph& graph, const NamedTensors& feeds) {
  Symbols symbols(graph);
  std::size_t used = 0;
  for (const Value& input : graph.inputs()) {
    const Node& node = graph.node(input.node);
    const std::string& name = graph.name_of(input);
    const auto feed = feeds.find(name);
    if (feed == feeds.end()) {
      if (node.kind == NodeKind::Initializer || !node.declared.is_tensor) continue;
      return Error{fmt::format("input {}: not given, expected {}", name, spell(node.declared))};
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
Tensor stacked(const std::vector<const Tensor*>& parts) {
  const Tensor& first = *parts.front();
  Extents extents = first.extents();
  extents.insert(extents.begin(), static_cast<std::int64_t>(parts.size()));
  const std::size_t each = first.bytes().size;
  Buffer buffer(each * parts.size());
  for (std::size_t k = 0; k < parts.size(); ++k)
    if (each > 0) std::memcpy(buffer.data() + k * each, parts[k]->bytes().data, each);
  return {first.type(), std::move(extents), std::move(buffer).freeze()};
}
Argument stacked(const std::vector<Argument>& parts) {
  std::vector<const Tensor*> tensors, stored;
  for (const Argument& a : parts) {
    tensors.push_back(&a.tensor);
    if (a.stored) stored.push_back(&*a.stored);
  }
  Argument out{parts[0].type, stacked(tensors)};
  if (stored.size() == parts.size()) out.stored = stacked(stored);
  out.is_exact = std::ranges::all_of(parts, &Argument::is_exact);
  out.is_agreed = std::ranges::all_of(parts, &Argument::is_agreed);
  return out;
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
  Run(const Graph& graph, const NamedTensors& feeds, Arithmetic arithmetic, bool with_stored,
      std::optional<Given> given = {})
      : graph_(graph),
        feeds_(feeds),
        is_body_(given.has_value()),
        given_(std::move(given).value_or(Given{})),
        arithmetic_(arithmetic),
        with_stored_(with_stored),
        programs_(graph, arithmetic, with_stored),
        live_(live_nodes(graph)) {}

  Result<RunOutcome> run();
  Step execute();
  const Argument& fetch(Value value);
  // It came to a node whose value the arithmetic of the stored types decides, and had not followed it.
  bool wants_stored() const { return wants_stored_; }

 private:
  void count_uses();
  Argument taken(const Tensor& tensor, bool is_constant) const;
  std::optional<OpaqueNode> missing(NodeId id, const Node& node) const;
  void release(Value value);
  bool is_given(Value value) const;
  Arguments arguments_of(const Node& node);
  Step step(NodeId id, const Node& node);
  const Body* body_of(const Node& node);
  Step run_body(const Node& node, const Body& body, const Arguments& passed, std::vector<Argument>& outputs);
  Step run_once(NodeId id, const Node& node, const Body& body);
  Step run_loop(NodeId id, const Node& node);
  Result<std::vector<Argument>> compute(const Compiled& compiled, const Arguments& arguments);

  const Graph& graph_;
  const NamedTensors& feeds_;
  bool is_body_;
  Given given_;
  Arithmetic arithmetic_;
  bool with_stored_, wants_stored_ = false, is_uncertain_ = false;
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

Argument Run::taken(const Tensor& tensor, bool is_constant) const {
  Argument out{tensor.type(), tensor, is_constant ? std::optional(tensor) : std::nullopt};
  if (arithmetic_ == Arithmetic::Native || !is_float(tensor.type())) return out;
  out.tensor = convert(tensor, arithmetic_ == Arithmetic::Field ? ElementType::Field : ElementType::Double);
  if (with_stored_) out.stored = tensor;
  return out;
}

// An input that can't be fed: it is no tensor.
std::optional<OpaqueNode> Run::missing(NodeId id, const Node& node) const {
  const bool is_absent = node.kind == NodeKind::Input && live_.contains(id);
  if (!is_absent || is_body_ || feeds_.contains(node.outputs[0])) return std::nullopt;
  return OpaqueNode{node.outputs[0], "", "the input is not a tensor"};
}

// A value that is needed now. Feeds and initializers are converted to the run's arithmetic at first use.
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
  held.value = taken(tensor, !is_fed);
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
  Graph graph = *body.graph;
  graph.opsets.own = graph_.opsets.own;
  Run inside(graph, feeds_, arithmetic_, with_stored_, std::move(given));
  ISOMER_TRY(auto opaque, inside.execute());
  wants_stored_ = wants_stored_ || inside.wants_stored_;
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
    outputs[k].value = stacked(collected[k]);
  }
  return std::optional<OpaqueNode>();
}

Result<std::vector<Argument>> Run::compute(const Compiled& compiled, const Arguments& arguments) {
  std::vector<std::optional<Tensor>> tensors(compiled.inputs), stored(compiled.inputs);
  std::vector<bool> is_open(compiled.inputs, false);  // the digits of an input are not agreed on
  bool is_exact = true, is_agreed = compiled.has_agreed_digits;
  for (std::size_t k = 0; k < tensors.size() && k < arguments.size(); ++k) {
    if (!arguments[k]) continue;
    tensors[k] = arguments[k]->tensor;
    stored[k] = arguments[k]->stored ? arguments[k]->stored : tensors[k];
    is_open[k] = !arguments[k]->is_agreed || !compiled.has_agreed_digits;
    is_exact = is_exact && arguments[k]->is_exact;
    is_agreed = is_agreed && arguments[k]->is_agreed;
  }
  ISOMER_TRY(std::vector<Tensor> results, compiled.program.run(tensors));
  std::vector<Argument> out;
  for (std::size_t k = 0; k < results.size(); ++k) out.push_back({compiled.types[k], std::move(results[k])});
  if (!with_stored_) return out;
  ISOMER_TRY(std::vector<Tensor> native, compiled.stored->run(stored));
  is_uncertain_ = arithmetic_ == Arithmetic::Certain && compiled.jumps &&
                  last_digits_decide(*compiled.stored, stored, is_open, native);
  for (std::size_t k = 0; k < out.size(); ++k) {
    const bool is_real = is_float(compiled.types[k]);
    const Tensor wide = is_real ? convert(native[k], ElementType::Double) : native[k];
    out[k].is_exact = compiled.jumps || (is_exact && wide.same_bits(out[k].tensor));
    out[k].is_agreed = is_agreed || out[k].is_exact;
    if (compiled.jumps || compiled.narrows) out[k].tensor = wide;
    if (is_real) out[k].stored = std::move(native[k]);
  }
  return out;
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
    outputs[0].value = taken(std::get<Tensor>(constant), true);
    return std::optional<OpaqueNode>();
  }
  const Arguments arguments = arguments_of(node);
  const auto answer = programs_.find(node, arguments);
  if (const auto* invalid = std::get_if<Invalid>(&answer)) return error_of(node, *invalid);
  if (const auto* opaque = std::get_if<Opaque>(&answer))
    return std::optional(OpaqueNode{label(node), node.op, opaque->reason});
  const Compiled& compiled = *std::get<std::shared_ptr<const Compiled>>(answer);
  if ((compiled.jumps || compiled.narrows) && !with_stored_) {
    wants_stored_ = true;
    return std::optional(OpaqueNode{label(node), node.op, "it needs the arithmetic of the stored types"});
  }
  auto results = compute(compiled, arguments);
  if (!results.ok()) return Error{fmt::format("{}: {}", label(node), results.error().message), label(node)};
  if (is_uncertain_)
    return std::optional(
        OpaqueNode{label(node), node.op, "last digits that runtimes may differ in decide it"});
  for (std::size_t k = 0; k < results->size() && k < outputs.size(); ++k)
    if (outputs[k].uses > 0) outputs[k].value = std::move((*results)[k]);
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
  Run run(graph, feeds, arithmetic, false);
  ISOMER_TRY(RunOutcome outcome, run.run());
  if (!run.wants_stored()) return outcome;
  return Run(graph, feeds, arithmetic, true).run();
}

}  // namespace isomer
