// The Call that a node makes: from the known facts about its inputs to its definition. Inference (symbolic
// shapes) and the interpreter (concrete tensors) both use it.
#pragma once

#include <variant>

#include "base/result.h"
#include "model/graph/graph.h"
#include "model/ops/operator.h"

namespace isomer {

// The operator of a name here: one of the list, or one that a user states for this graph. nullptr: none.
const Operator* find_operator(const Graph& graph, const Node& node);

// The operator that a node applies, or why it has no formula, whatever its inputs: control flow, a custom
// domain, a local function, an operator that is not defined.
std::variant<const Operator*, Opaque> operator_of(const Graph& graph, const Node& node);

// A call with the node's attributes, opset and number of outputs; its inputs are for the caller to add.
Call call_without_inputs(const Graph& graph, const Node& node);

// A definition that no legal model has, as an error that names the node and the attribute.
Error error_of(const Node& node, const Invalid& invalid);

}  // namespace isomer
