#include "optimizer/facts/scalar_region.h"

#include <algorithm>
#include <ranges>

#include "model/eval/program.h"
#include "model/graph/constant.h"

namespace isomer {
namespace {

constexpr std::size_t kMostNodes = 16;  // a Gelu that jax writes has ten

Tensor as_number(const Tensor& constant) { return {constant.type(), {}, constant.bytes()}; }

}  // namespace

ScalarRegions::ScalarRegions(const Site& site) : site_(site) {
  for (const NodeId id : site.graph.order())
    if (is_scalar(id)) scalar_.insert(id);
}

bool ScalarRegions::is_number(Value v) const {
  if (!site_.is_constant(v)) return false;
  const auto sizes = site_.concrete_sizes(v);
  return sizes && element_count(*sizes) == 1;
}

// Whether a node reads only values of one shape, and numbers.
bool ScalarRegions::is_scalar(NodeId id) const {
  const Node& node = site_.node(id);
  if (node.kind != NodeKind::Operator || node.outputs.size() != 1 || node.inputs.empty()) return false;
  const auto& shape = site_.inference.of({id, 0}).shape;
  if (!shape) return false;
  std::size_t values = 0;
  for (const Value& v : node.inputs) {
    if (!v.exists() || is_number(v)) continue;
    const auto& from = site_.inference.of(v).shape;
    if (site_.is_constant(v) || !from || *from != *shape) return false;
    ++values;
  }
  const auto formula = values > 0 ? site_.formula(id) : std::nullopt;
  if (!formula || formula->stages.size() != 1 || formula->output(0).value->kind == ExprNode::Kind::Reduce)
    return false;
  const auto roles = axis_roles(*formula, 0);
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    if (!node.inputs[k].exists() || is_number(node.inputs[k])) continue;
    for (std::size_t d = 0; d < shape->size(); ++d)
      if (!(*shape)[d].is(1) &&
          (roles[k].axes[d] != AxisRole::Parallel || roles[k].output_axis[d] != static_cast<int>(d)))
        return false;
  }
  return true;
}

std::vector<ScalarRegion> ScalarRegions::ending_in(Value output) const {
  std::vector<ScalarRegion> out;
  if (!is_float(site_.inference.of(output).type)) return out;
  std::set<Value, LaterFirst> open({output}, LaterFirst{&site_});
  std::vector<NodeId> nodes;
  while (nodes.size() < kMostNodes) {
    const Value v = *open.begin();
    if (!scalar_.contains(v.node)) break;
    open.erase(open.begin());
    nodes.push_back(v.node);
    for (const Value& x : site_.activations(v.node)) open.insert(x);
    const Value first = *open.begin();
    if (open.size() == 1 && is_float(site_.inference.of(first).type))
      out.push_back({.input = first, .output = output, .nodes = nodes});
  }
  return out;
}

std::optional<std::vector<double>> ScalarRegions::values(const ScalarRegion& region,
                                                         const std::vector<double>& at,
                                                         Arithmetic arithmetic) const {
  const ElementType type = site_.inference.of(region.input).type;
  ProgramBuilder b(site_.graph.opsets, "scalar.");
  const std::vector<std::optional<Dim>> shape{Dim(static_cast<std::int64_t>(at.size()))};
  std::map<Value, Value> made{{region.input, b.input("x", {.type = type, .shape = shape})}};
  for (const NodeId id : std::views::reverse(region.nodes)) {
    std::vector<Value> inputs;
    for (const Value& v : site_.node(id).inputs) {
      if (v.exists() && !made.contains(v))
        made.emplace(v, b.constant(as_number(*known_constant(site_.graph, v))));
      inputs.push_back(v.exists() ? made.at(v) : v);
    }
    made[{id, 0}] = b.copy(site_.node(id), inputs);
  }
  b.output(made.at(region.output));
  return values_of(b.graph(), type, at, arithmetic);
}

std::vector<Value> ScalarRegions::numbers(const ScalarRegion& region) const {
  std::vector<Value> out;
  for (const NodeId id : region.nodes)
    for (const Value& v : site_.node(id).inputs)
      if (v.exists() && is_number(v) && std::ranges::find(out, v) == out.end()) out.push_back(v);
  return out;
}

std::optional<std::vector<double>> values_of(const Graph& program, ElementType type,
                                             const std::vector<double>& at, Arithmetic arithmetic) {
  const Tensor numbers = Tensor::of(ElementType::Double, {static_cast<std::int64_t>(at.size())}, at);
  const auto outcome =
      interpret(program, {{program.name_of(program.inputs()[0]), convert(numbers, type)}}, arithmetic);
  if (!outcome.ok() || outcome->opaque || outcome->outputs.size() != 1) return std::nullopt;
  auto values = outcome->outputs.begin()->second.doubles();
  // A program that leaves an axis of one element alone may shorten one of more: a Slice that turns it around.
  if (values && values->size() != at.size()) return std::nullopt;
  return values;
}

}  // namespace isomer
