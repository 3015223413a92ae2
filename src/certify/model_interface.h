// What two models must have in common before any of their values are compared: inputs by name, with their
// defaults, and outputs by position.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "graph/infer.h"

namespace isomer {

// The inputs that a caller feeds, by name.
std::map<std::string, const Node*> fed_inputs(const Graph& graph);

// The second model's names of dimensions as the first one's, by where the inputs have them. A name of its own
// that the first one has for something else becomes another.
Graph with_symbols_of(const Graph& a, const Graph& b);

// What tells the two models apart before any value is computed.
std::optional<std::string> interface_difference(const Graph& a, const Inference& a_info, const Graph& b,
                                                const Inference& b_info);

// Inputs whose extents the models declare differently: what is equal at one size need not be at another.
std::optional<std::string> size_difference(const Graph& a, const Inference& a_info, const Graph& b,
                                           const Inference& b_info);

}  // namespace isomer
