// Inference inside bodies: the graphs in a node's attributes, or the function that it calls, with the facts
// known outside; and the facts that follow for the node's outputs.
#pragma once

#include "model/graph/infer.h"
#include "model/graph/symbols.h"

namespace isomer {

struct BodyInference {
  std::vector<Inference> bodies;   // one per body; none where they can't be inferred
  std::vector<ValueInfo> outputs;  // of the node
};

// For If, Loop, Scan and calls of functions. A carried value of a Loop has its initial shape on every axis
// that the body is known to keep, and a new symbol on the others.
BodyInference infer_bodies(const Graph& graph, const Inference& inference, Symbols& symbols, const Node& node,
                           int depth);

}  // namespace isomer
