// Weights that are stored in few bits. Folding one would be correct, but it makes the file four times larger
// and hides the quantisation from the runtime, which chooses its integer kernels by it. So no proposer folds
// one.
#pragma once

#include "model/graph/graph.h"

namespace isomer {

inline bool is_dequantization(const Node& node) {
  return node.op == "DequantizeLinear" && (node.domain.empty() || node.domain == "com.microsoft");
}

}  // namespace isomer
