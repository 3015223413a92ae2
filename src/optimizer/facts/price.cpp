#include "optimizer/facts/price.h"

#include <algorithm>
#include <set>
#include <string>

#include "model/analysis/analysis.h"
#include "model/expr/parts.h"
#include "model/graph/dequantized.h"
#include "model/graph/graph_index.h"
#include "model/graph/node_attributes.h"

namespace isomer {
namespace {

constexpr std::int64_t kTypicalSize = 32;  // of a named extent

// The same elements in the same order.
bool is_view(const Node& node) {
  static const std::set<std::string, std::less<>> views{"Reshape", "Flatten", "Squeeze", "Unsqueeze",
                                                        "Identity"};
  return node.domain.empty() && views.contains(node.op);
}

bool is_function(Fn fn) {
  switch (fn) {
    case Fn::Exp:
    case Fn::Log:
    case Fn::Tanh:
    case Fn::Sigmoid:
    case Fn::Erf:
    case Fn::Pow:
    case Fn::Sqrt:
    case Fn::Sin:
    case Fn::Cos: return true;
    default: return false;
  }
}

bool has_functions(const ExprNode& e) {
  return any_part(
      e, [](const ExprNode& part) { return part.kind == ExprNode::Kind::Apply && is_function(part.fn); });
}

// The cost of an operation of this node.
double rate_of(const Graph& graph, const Inference& inference, NodeId id, const Formula& formula,
               const Machine& machine) {
  const Node& node = graph.node(id);
  const Prices& prices = machine.prices;
  if (node.op == "Conv" && node.domain.empty()) {
    const std::int64_t groups = attribute(node, "group", std::int64_t{1});
    if (groups > 1 && inference.of(node.inputs[0]).shape &&
        (*inference.of(node.inputs[0]).shape)[1].is(groups))
      return prices.depthwise;
    return is_blocked(machine, graph, inference, id).value_or(true) ? prices.convolution : prices.unblocked;
  }
  const bool functions =
      std::ranges::any_of(formula.stages, [](const Stage& s) { return has_functions(*s.value); });
  return functions ? prices.function : 1;
}

}  // namespace

std::optional<std::int64_t> typical_size(const Dim& dim, const Machine& machine) {
  return dim.evaluate([&](std::string_view name) {
    const auto known = machine.sizes.find(name);
    return std::optional(known == machine.sizes.end() ? kTypicalSize : known->second);
  });
}

std::set<NodeId> folded_nodes(const Graph& graph) {
  return constant_nodes(graph, [&](NodeId id) { return !is_dequantization(graph.node(id)); });
}

std::optional<double> price_of(const Graph& graph, const Inference& inference, NodeId id,
                               const Machine& machine) {
  const Definition definition = define_node(graph, inference, id);
  const auto* formula = std::get_if<Formula>(&definition);
  if (formula == nullptr) return std::nullopt;
  const auto operations = typical_size(cost(*formula).operations, machine);
  if (!operations) return std::nullopt;
  const Prices& prices = machine.prices;
  double price =
      static_cast<double>(*operations) * rate_of(graph, inference, id, *formula, machine) + prices.node;
  if (is_view(graph.node(id))) return price;
  if (!moves_data(*formula->output(0).value))
    for (const auto& input : formula->inputs)
      if (input)
        price +=
            prices.element * static_cast<double>(typical_size(product(input->shape), machine).value_or(0));
  for (int k = 0; k < static_cast<int>(formula->outputs.size()); ++k) {
    const auto elements = typical_size(product(formula->output(k).shape()), machine);
    if (!elements) return std::nullopt;
    price += prices.element * static_cast<double>(*elements);
  }
  return price + prices.reordered * reordered_elements(machine, graph, inference, id);
}

double price(const Graph& graph, const Inference& inference, const Machine& machine) {
  const std::set<NodeId> constants = folded_nodes(graph);
  double out = 0;
  for (const NodeId id : graph.order())
    if (graph.node(id).kind == NodeKind::Operator && !constants.contains(id))
      out += price_of(graph, inference, id, machine).value_or(0);
  return out;
}

}  // namespace isomer
