// Types and shapes of what nodes without a formula put out, so that the graph behind them is still
// understood. One line of ONNX's, or of ONNX Runtime's, documentation each; values are not followed.
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
