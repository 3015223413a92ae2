// The model with operators in the place of regions.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "compiler/cover/graph_copy.h"
#include "compiler/cover/region_program.h"
#include "runtime/engines/ort_operator.h"

namespace isomer {
namespace {

using Units = std::map<NodeId, std::size_t>;  // regions, then nodes by themselves

// Units in an order in which each is behind those that it reads, otherwise as nodes are; fewer than all where
// they wait for each other.
std::vector<std::size_t> order_units(const Graph& graph, const Units& unit_of, std::size_t units) {
  std::vector<std::set<std::size_t>> readers(units);
  std::vector<std::size_t> waits(units, 0), place(units, graph.order().size());
  std::size_t at = 0;
  for (const NodeId id : graph.order()) {
    const std::size_t unit = unit_of.at(id);
    place[unit] = std::min(place[unit], at++);
    for (const auto* values : {&graph.node(id).inputs, &graph.node(id).captures})
      for (const Value& v : *values)
        if (v.exists() && unit_of.at(v.node) != unit && readers[unit_of.at(v.node)].insert(unit).second)
          ++waits[unit];
  }
  std::set<std::pair<std::size_t, std::size_t>> ready;  // by their places
  for (std::size_t u = 0; u < units; ++u)
    if (waits[u] == 0) ready.emplace(place[u], u);
  std::vector<std::size_t> out;
  while (!ready.empty()) {
    out.push_back(ready.begin()->second);
    ready.erase(ready.begin());
    for (const std::size_t reader : readers[out.back()])
      if (--waits[reader] == 0) ready.emplace(place[reader], reader);
  }
  return out;
}

void add_operator(GraphCopy& copy, const CutModel& cut, const OperatorPlace& p, std::size_t number) {
  const Graph& graph = cut.model.graph;
  Node node;
  node.op = p.op;
  node.domain = kOrtOperatorDomain;
  node.name = fmt::format("{}_{}", p.op, number);
  node.attributes.set("weights", p.weights);
  for (const Value& v : p.region->inputs) node.inputs.push_back(copy.of(v));
  for (const Value& v : p.region->outputs) {
    node.outputs.push_back(graph.name_of(v));
    // Its shape has no other source: the runtime does not infer shapes of our operators.
    copy.graph().declare(graph.name_of(v), declared_as(cut.inference.of(v)));
  }
  const NodeId made = copy.add(std::move(node));
  for (std::uint32_t k = 0; k < p.region->outputs.size(); ++k) copy.set(p.region->outputs[k], {made, k});
}

// The sizes of a call as a vector: in the place of the input whose extents they are, and of its shape.
void copy_sizes(GraphCopy& copy, const CutModel& cut) {
  const Graph& graph = cut.model.graph;
  Node input = graph.node(cut.sizes.node);
  const auto count = static_cast<std::int64_t>(input.declared.shape->size());
  input.declared = {.type = ElementType::Int64, .shape = std::vector<std::optional<Dim>>{Dim(count)}};
  const Value sizes{copy.add(std::move(input)), 0};
  copy.set(cut.sizes, sizes);
  for (const NodeId id : graph.order())
    if (graph.node(id).op == "Shape" && graph.node(id).inputs[0] == cut.sizes) copy.set({id, 0}, sizes);
}

}  // namespace

Result<Model> with_operators(const CutModel& cut, const std::vector<OperatorPlace>& places) {
  const Graph& graph = cut.model.graph;
  Units unit_of;
  for (std::size_t p = 0; p < places.size(); ++p)
    for (const NodeId id : places[p].region->nodes)
      if (!unit_of.emplace(id, p).second)
        return Error{fmt::format("{} is in two regions", label(graph.node(id)))};
  std::vector<NodeId> single;
  for (const NodeId id : graph.order())
    if (unit_of.emplace(id, places.size() + single.size()).second) single.push_back(id);
  const std::size_t units = places.size() + single.size();
  const std::vector<std::size_t> order = order_units(graph, unit_of, units);
  if (order.size() < units) return Error{"regions that wait for each other"};
  GraphCopy copy(graph, graph.without_nodes());
  copy.graph().opsets[kOrtOperatorDomain] = 1;
  if (cut.sizes.exists()) copy_sizes(copy, cut);
  for (const std::size_t unit : order) {
    if (unit < places.size()) add_operator(copy, cut, places[unit], unit);
    else if (const NodeId id = single[unit - places.size()]; !copy.has(id)) copy.copy(id);
  }
  Model out = cut.model;
  out.graph = copy.finish();
  return out;
}

}  // namespace isomer
