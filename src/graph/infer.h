// Shapes, element types and small integer values of every value of a graph, concrete or symbolic, all derived
// from the operators' formulas: a formula's axes are the shape, and evaluating it over symbolic integers
// follows values through Shape-Gather-Concat-Reshape chains.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "ops/operator.h"

namespace isomer {

struct ValueInfo {
  ElementType type = ElementType::Undefined;  // Undefined: not known
  std::optional<Dims> shape;                  // nullopt: rank not known
  std::optional<Dims> integers;               // elements of a small integer or bool tensor, where known
};

struct Inference {
  // By node id of the graph's store, then output number.
  const ValueInfo& of(Value value) const;
  std::unordered_map<NodeId, std::vector<ValueInfo>> values;
  std::unordered_map<NodeId, std::string> opaque;  // operator nodes without a formula here, and why
};

struct InferOptions {
  std::map<std::string, std::int64_t, std::less<>> symbols;  // dim_params to bind
  std::map<std::string, Extents, std::less<>> shapes;        // input name -> concrete shape
};

// Error: a node that no legal model has (named), with the attribute or input at fault.
Result<Inference> infer(const Graph& graph, const InferOptions& options = {});

// The call that a node makes, given what is known of its inputs; and its definition.
Definition define_node(const Graph& graph, const Inference& inference, NodeId node);

}  // namespace isomer
