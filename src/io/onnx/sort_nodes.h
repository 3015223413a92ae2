// Nodes in the order that ONNX requires. Runtimes accept others, and converters to float16 append the casts
// of inputs at the end.
#pragma once

#include "onnx/onnx-ml.pb.h"

namespace isomer::wire {

// Puts what a node reads before it, bodies included. Whether anything moved: not in a graph with a cycle.
bool sort_nodes(onnx::GraphProto& graph);

}  // namespace isomer::wire
