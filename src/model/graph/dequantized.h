// Weights that are stored in few bits. Folding one makes it four times as large, and takes away from the
// runtime what it chooses its integer kernels by. It is equal, so that nobody else minds; no proposer does
// it.
#pragma once

#include "model/graph/graph.h"

namespace isomer {

inline bool is_dequantization(const Node& node) {
  return node.op == "DequantizeLinear" && (node.domain.empty() || node.domain == "com.microsoft");
}

}  // namespace isomer
