#include "optimizer/facts/denormal_products.h"

#include <algorithm>

#include "kernel/prove/flush.h"
#include "model/analysis/analysis.h"
#include "model/graph/constant.h"

namespace isomer {
namespace {

// The share of denormal numbers in the largest constant that a node reads.
double share_in_weights(const Graph& graph, const Node& node) {
  std::optional<Tensor> weights;
  for (const Value& v : node.inputs) {
    if (!v.exists()) continue;
    auto constant = known_constant(graph, v);
    if (constant && constant->type() == ElementType::Float && constant->count() > 0 &&
        (!weights || constant->count() > weights->count()))
      weights = std::move(constant);
  }
  if (!weights) return 0;
  const auto values = weights->as<float>();
  return static_cast<double>(std::ranges::count_if(values, is_denormal)) /
         static_cast<double>(weights->count());
}

}  // namespace

std::optional<double> share_of_denormal_products(const Graph& graph, const Inference& inference) {
  double all = 0, denormal = 0;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::Operator || inference.opaque.contains(id) || known_constant(graph, {id, 0}))
      continue;
    const Definition definition = define_node(graph, inference, id);
    const auto* formula = std::get_if<Formula>(&definition);
    if (formula == nullptr) continue;
    const Dim operations = cost(*formula).operations;
    if (!operations.is_concrete()) return std::nullopt;
    all += static_cast<double>(operations.concrete());
    denormal += static_cast<double>(operations.concrete()) * share_in_weights(graph, node);
  }
  return all > 0 ? denormal / all : 0;
}

}  // namespace isomer
