// Values that are known before a graph runs: initializers that no caller may override, and Constant nodes.
#pragma once

#include <optional>
#include <variant>

#include "model/graph/graph.h"
#include "model/ops/operator.h"

namespace isomer {

bool is_constant_node(const Node& node);

// The value of a Constant node, in any of its attributes. Opaque: a sparse tensor. Invalid: none or several
// of them.
std::variant<Tensor, Opaque, Invalid> constant_of(const Node& node);

// The value of an initializer that is not overridable, or of a Constant node; nullopt for everything else.
std::optional<Tensor> known_constant(const Graph& graph, Value value);

}  // namespace isomer
