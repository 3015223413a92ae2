// Types and shapes of the outputs of nodes without a formula, so that the graph behind them is still
// understood. Each is one line of the documentation of ONNX or ONNX Runtime; values are not followed.
//
// For operators that no formula expresses, and for calls whose shape depends on values that are not known:
// then each extent that the call decides is a new symbol.
#pragma once

#include <vector>

#include "model/graph/infer.h"
#include "model/graph/symbols.h"

namespace isomer {

// One per output of the node; nothing is known of outputs that have no line.
std::vector<ValueInfo> opaque_outputs(const Graph& graph, const Inference& inference, Symbols& symbols,
                                      const Node& node);

}  // namespace isomer
