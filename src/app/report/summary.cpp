#include "app/report/summary.h"

#include <algorithm>
#include <map>
#include <utility>

#include "model/analysis/analysis.h"
#include "model/graph/flatten.h"

namespace isomer {
namespace {

std::uint64_t constant_bytes(const Node& node) {
  const auto* tensor =
      node.op == "Constant" && node.domain.empty() ? node.attributes.find_as<Tensor>("value") : nullptr;
  return tensor ? tensor->bytes().size : 0;
}

bool computes_floats(const Node& node, NodeId id, const Inference& inference) {
  if (node.domain.empty() && (node.op == "Constant" || node.op == "Identity")) return false;
  bool any_known = false, any_float = false;
  const auto look = [&](Value value) {
    const ElementType type = inference.of(value).type;
    any_known |= type != ElementType::Undefined;
    any_float |= is_float(type);
  };
  for (const Value input : node.inputs)
    if (input.exists()) look(input);
  for (std::uint32_t k = 0; k < node.outputs.size(); ++k) look({id, k});
  return any_float || !any_known;
}

// Counts the operators of a graph and of all bodies in it, kind by kind.
class Census {
 public:
  explicit Census(Summary& summary) : summary_(summary) {}

  void count(const Graph& graph, const Inference& inference) {
    for (const NodeId id : graph.order()) {
      const Node& node = graph.node(id);
      if (node.kind == NodeKind::Initializer) summary_.weight_bytes += node.tensor.bytes().size;
      if (node.kind != NodeKind::Operator) continue;
      summary_.weight_bytes += constant_bytes(node);
      count(graph, inference, id);
      if (const auto inside = inference.bodies.find(id); inside != inference.bodies.end())
        for (std::size_t k = 0; k < inside->second.size(); ++k)
          count(*node.bodies[k].graph, inside->second[k]);
    }
  }

 private:
  void count(const Graph& graph, const Inference& inference, NodeId id) {
    const Node& node = graph.node(id);
    const auto [at, is_new] =
        numbers_.try_emplace(std::pair(node.domain, node.op), summary_.operators.size());
    if (is_new) summary_.operators.push_back({node.op, node.domain, 0, 0, 0});
    OperatorCount& kind = summary_.operators[at->second];

    const auto opaque = inference.opaque.find(id);
    const bool is_defined = opaque == inference.opaque.end();
    const bool on_floats = computes_floats(node, id, inference);
    ++kind.count;
    if (is_defined) {
      ++kind.defined;
      add_flops(kind, graph, inference, id);
    } else {
      summary_.opaque.push_back({label(node), node.op, node.domain, opaque->second, on_floats});
    }
    if (!on_floats) return;
    ++summary_.float_nodes;
    if (is_defined) ++summary_.float_nodes_defined;
  }

  void add_flops(OperatorCount& kind, const Graph& graph, const Inference& inference, NodeId id) {
    if (!summary_.flops) return;
    const Definition definition = define_node(graph, inference, id);
    const auto* formula = std::get_if<Formula>(&definition);
    if (!formula) return;  // a Constant: nothing to compute
    try {
      const Dim flops = cost(*formula).operations;
      kind.flops = kind.flops + flops;
      summary_.flops = *summary_.flops + flops;
    } catch (const DimOverflow&) {
      summary_.flops = std::nullopt;
    }
  }

  Summary& summary_;
  std::map<std::pair<std::string, std::string>, std::size_t> numbers_;
};

}  // namespace

InterfaceValue describe_value(const Graph& graph, const Inference& inference, Value value) {
  const ValueInfo& info = inference.of(value);
  return {graph.name_of(value), info.type, info.shape};
}

Result<Summary> summarize(const Model& model, const InferOptions& options) {
  ISOMER_TRY(const Graph graph, flatten(model.graph, options));
  ISOMER_TRY(const Inference inference, infer(graph, options));
  Summary summary;
  summary.ir = model.ir_version;
  summary.opsets = graph.opsets;
  summary.nodes = model.node_count;
  summary.flops = Dim(0);
  for (const Value input : graph.inputs()) summary.inputs.push_back(describe_value(graph, inference, input));
  for (const Value output : graph.outputs())
    summary.outputs.push_back(describe_value(graph, inference, output));

  Census(summary).count(graph, inference);
  std::ranges::stable_sort(summary.operators, std::ranges::greater{}, &OperatorCount::count);
  return summary;
}

}  // namespace isomer
