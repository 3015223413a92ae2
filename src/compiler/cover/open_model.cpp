#include "compiler/cover/open_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "compiler/cover/graph_copy.h"
#include "compiler/loops/open_sizes.h"
#include "model/eval/program.h"
#include "model/graph/flatten.h"
#include "model/graph/graph_index.h"

namespace isomer {
namespace {

constexpr std::size_t kMostElements = 64;  // of a value that is computed anew
constexpr int kOpsetOfIntegerMax = 12;     // Max and Min take integers from here on

Node operator_node(const std::string& op, const std::vector<Value>& inputs, std::string output) {
  Node node;
  node.op = op;
  node.inputs = inputs;
  node.outputs = {std::move(output)};
  return node;
}

std::string unused_prefix(const Graph& graph, std::string prefix) {
  const auto begins = [&](const std::string& name) { return name.starts_with(prefix); };
  const auto is_used = [&] {
    return std::ranges::any_of(
        graph.order(), [&](NodeId id) { return std::ranges::any_of(graph.node(id).outputs, begins); });
  };
  while (is_used()) prefix += '_';
  return prefix;
}

// Copies a graph; values that are numbers, or follow from the sizes, are computed anew.
class OpenCopy {
 public:
  OpenCopy(const Graph& graph, const Inference& inference, std::vector<std::string> sizes)
      : graph_(graph),
        inference_(inference),
        sizes_(std::move(sizes)),
        index_(graph),
        copy_(graph, graph.without_nodes()),
        prefix_(unused_prefix(graph, "isomer.sizes")) {}

  struct Copied {
    Graph graph;
    Value sizes;
  };
  Copied run() {
    Node input;
    input.kind = NodeKind::Input;
    input.outputs = {prefix_};
    input.declared = {.type = ElementType::Uint8, .shape = std::vector<std::optional<Dim>>{}};
    for (const std::string& name : sizes_) input.declared.shape->push_back(Dim::symbol(name));
    const Value sizes{copy_.add(std::move(input)), 0};
    shape_ = add(operator_node("Shape", {sizes}, next()));
    for (const NodeId id : graph_.order()) copy(id);
    for (const Value& v : graph_.outputs())
      copy_.graph().declare(graph_.name_of(v), declared_as(inference_.of(v)));
    copy_.graph().add_input(sizes);
    return {copy_.finish(), sizes};
  }

 private:
  std::string next() { return fmt::format("{}.{}", prefix_, next_++); }
  Value add(Node node) { return {copy_.add(std::move(node)), 0}; }
  Value integers(const std::vector<std::int64_t>& numbers) {
    Node node;
    node.kind = NodeKind::Initializer;
    node.outputs = {next()};
    node.tensor = Tensor::of(ElementType::Int64, {static_cast<std::int64_t>(numbers.size())}, numbers);
    return add(std::move(node));
  }

  void copy(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.kind == NodeKind::Input) {
      Node input = node;
      input.declared.shape = declared_as(inference_.of({id, 0})).shape;
      copy_.set({id, 0}, add(std::move(input)));
      return;
    }
    std::vector<Value> made;
    bool is_known = node.kind == NodeKind::Operator && node.captures.empty() && !node.outputs.empty();
    for (std::uint32_t k = 0; is_known && k < node.outputs.size(); ++k) {
      const auto value = node.outputs[k].empty() ? std::optional(Value::none()) : known({id, k});
      is_known = value.has_value();
      if (value) made.push_back(*value);
    }
    if (!is_known) return copy_.copy(id);
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k)
      if (made[k].exists()) copy_.set({id, k}, made[k]);
  }

  // nullopt: it depends on more than sizes, or is better left as it is.
  std::optional<Value> known(Value v) {
    const ValueInfo& info = inference_.of(v);
    if (index_.is_output(v) || !info.integers || info.integers->size() > kMostElements) return std::nullopt;
    const auto shape = concrete_shape(info);
    if (!shape || info.integers->empty()) return std::nullopt;
    const auto is_open = [&](const Dim& d) { return !d.is_concrete(); };
    if (std::ranges::none_of(*info.integers, is_open)) return std::nullopt;
    std::vector<Value> parts;
    for (const Dim& d : *info.integers) {
      const auto part = number(d);
      if (!part) return std::nullopt;
      parts.push_back(*part);
    }
    Value all = parts[0];
    if (parts.size() > 1) {
      Node node = operator_node("Concat", parts, next());
      node.attributes.set("axis", std::int64_t{0});
      all = add(std::move(node));
    }
    if (info.type != ElementType::Int64) {
      Node node = operator_node("Cast", {all}, next());
      node.attributes.set("to", static_cast<std::int64_t>(info.type));
      all = add(std::move(node));
    }
    return add(operator_node("Reshape", {all, integers(*shape)}, graph_.name_of(v)));
  }

  // One element.
  std::optional<Value> number(const Dim& dim) {
    const std::string text = dim.text();
    if (const auto known = numbers_.find(text); known != numbers_.end()) return known->second;
    std::optional<Value> sum;
    if (dim.is_concrete()) sum = integers({dim.concrete()});
    else
      for (const Dim::Summand& s : dim.summands()) {
        const auto term = product_of(s);
        if (!term) return std::nullopt;
        sum = sum ? add(operator_node("Add", {*sum, *term}, next())) : *term;
      }
    numbers_.emplace(text, *sum);
    return sum;
  }
  std::optional<Value> product_of(const Dim::Summand& s) {
    std::optional<Value> out;
    if (s.coefficient != 1 || s.factors.empty()) out = integers({s.coefficient});
    for (const Dim::Factor& f : s.factors) {
      const auto factor = factor_of(f);
      if (!factor) return std::nullopt;
      out = out ? add(operator_node("Mul", {*out, *factor}, next())) : *factor;
    }
    return out;
  }
  std::optional<Value> factor_of(const Dim::Factor& f) {
    using Kind = Dim::Factor::Kind;
    if (f.kind == Kind::Symbol) {
      const auto at = std::ranges::find(sizes_, f.symbol);
      if (at == sizes_.end()) return std::nullopt;
      return add(operator_node("Gather", {shape_, integers({at - sizes_.begin()})}, next()));
    }
    const auto a = number(f.a), b = number(f.b);
    if (!a || !b) return std::nullopt;
    // Div rounds towards zero, as floor does for a quotient that is not negative.
    if (f.kind == Kind::Floor)
      return f.a.at_least(0) == true && f.b.at_least(1) == true
                 ? std::optional(add(operator_node("Div", {*a, *b}, next())))
                 : std::nullopt;
    if (graph_.opset("") < kOpsetOfIntegerMax) return std::nullopt;
    return add(operator_node(f.kind == Kind::Max ? "Max" : "Min", {*a, *b}, next()));
  }

  const Graph& graph_;
  const Inference& inference_;
  const std::vector<std::string> sizes_;
  const GraphIndex index_;
  GraphCopy copy_;
  std::string prefix_;
  Value shape_;
  int next_ = 0;
  std::map<std::string, Value> numbers_;
};

// Nodes that read nothing but constants, and what follows from the sizes.
std::set<NodeId> nodes_without_values(const Graph& graph, Value sizes) {
  std::set<NodeId> out;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.kind == NodeKind::Input || graph.is_overridable(id) || !node.captures.empty()) continue;
    const auto is_without = [&](const Value& v) { return !v.exists() || v == sizes || out.contains(v.node); };
    if (std::ranges::all_of(node.inputs, is_without)) out.insert(id);
  }
  return out;
}

Graph with_fixed_inputs(const Graph& graph, const Inference& inference,
                        const std::map<std::string, std::int64_t>& fixed) {
  const auto known = [&](std::string_view name) {
    const auto at = fixed.find(std::string(name));
    return at == fixed.end() ? Dim::symbol(name) : Dim(at->second);
  };
  return lower::with_substituted_inputs(graph, inference, known);
}

}  // namespace

std::vector<std::string> sizes_of_inputs(const Graph& graph, const Inference& inference) {
  std::vector<std::string> out;
  for (const Value input : graph.inputs()) {
    const auto& shape = inference.of(input).shape;
    if (!shape) continue;
    for (const Dim& extent : *shape)
      for (const std::string& name : extent.symbols())
        if (extent == Dim::symbol(name) && std::ranges::find(out, name) == out.end()) out.push_back(name);
  }
  return out;
}

Result<CutModel> open_model(const Model& model, const std::map<std::string, std::int64_t>& fixed) {
  const InferOptions sizes = lower::within_sizes({});
  CutModel out;
  ISOMER_TRY(Graph flat, flatten(model.graph, sizes));
  if (!fixed.empty()) {
    ISOMER_TRY(const Inference open, infer(flat, sizes));
    flat = with_fixed_inputs(flat, open, fixed);
  }
  ISOMER_TRY(const Inference first, infer(flat, sizes));
  const std::vector<std::string> names = sizes_of_inputs(flat, first);
  if (names.empty()) return Error{"no size of an input is open"};
  constexpr std::int64_t kLeastIr = 8;
  out.model.ir_version = std::max(model.ir_version, kLeastIr);
  auto [graph, input] = OpenCopy(flat, first, names).run();
  out.model.graph = std::move(graph);
  out.sizes = input;
  ISOMER_TRY(out.inference, infer(out.model.graph, lower::within_sizes({})));
  out.constants = nodes_without_values(out.model.graph, out.sizes);
  return out;
}

Result<RegionProgram> open_region(const CutModel& open, const CutModel& cut, const RegionProgram& region) {
  const Graph& graph = open.model.graph;
  const GraphIndex index(graph);
  std::set<Value> inputs;
  for (const Value& v : region.inputs)
    if (const auto same = index.find(cut.model.graph.name_of(v))) inputs.insert(*same);
  std::vector<Value> waiting;
  for (const Value& v : region.outputs) {
    const auto same = index.find(cut.model.graph.name_of(v));
    if (!same) return Error{fmt::format("there is no {} where sizes are open", cut.model.graph.name_of(v))};
    waiting.push_back(*same);
  }
  std::set<NodeId> inside;
  while (!waiting.empty()) {
    const Value v = waiting.back();
    waiting.pop_back();
    if (!v.exists() || inputs.contains(v) || open.constants.contains(v.node)) continue;
    const Node& node = graph.node(v.node);
    if (node.kind != NodeKind::Operator)
      return Error{fmt::format("{} is read where sizes are open", graph.name_of(v)), graph.name_of(v)};
    if (!inside.insert(v.node).second) continue;
    waiting.insert(waiting.end(), node.inputs.begin(), node.inputs.end());
    if (!node.captures.empty() || !node.bodies.empty())
      return Error{fmt::format("node '{}' has a body", label(node)), label(node)};
  }
  std::vector<NodeId> nodes;
  std::ranges::copy_if(graph.order(), std::back_inserter(nodes),
                       [&](NodeId id) { return inside.contains(id); });
  return region_program(open, nodes);
}

}  // namespace isomer
