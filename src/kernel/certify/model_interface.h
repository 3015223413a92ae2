// The requirements on two models before any of their values are compared: the same inputs by name, with their
// defaults; the same outputs by name or, if the models name them differently, by position.
#pragma once

#include <optional>
#include <string>

#include "model/graph/infer.h"

namespace isomer {

// The model with a name, of its own, for every size of an input that is declared without one.
Graph with_named_sizes(const Graph& graph);

// The second model's names of dimensions as the first one's, or its numbers, by where the inputs have them. A
// name of its own that the first one has for something else becomes another.
Graph with_symbols_of(const Graph& a, const Graph& b);

// Whether both models have the same names of outputs, each once.
bool same_output_names(const Graph& a, const Graph& b);

// The second model with its outputs in the order of the first; as it is, where their names are not the same.
Graph with_outputs_like(const Graph& a, const Graph& b);

// The first difference between the models that is visible before any value is computed.
std::optional<std::string> interface_difference(const Graph& a, const Inference& a_info, const Graph& b,
                                                const Inference& b_info);

// Inputs whose extents the models declare differently: what is equal at one size need not be at another.
std::optional<std::string> size_difference(const Graph& a, const Inference& a_info, const Graph& b,
                                           const Inference& b_info);

}  // namespace isomer
