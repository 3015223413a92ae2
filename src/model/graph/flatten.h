// Flattening: inlines calls of local functions, and Ifs whose condition is known. For reasoning about a
// model; the model itself keeps its functions and branches.
#pragma once

#include "base/result.h"
#include "model/graph/graph.h"
#include "model/graph/infer.h"

namespace isomer {

// Inputs, outputs and the names of all values that the graph had stay; values inside of a body get new names.
// A call of a function that imports other opsets than the graph stays as it is. Error: as infer().
Result<Graph> flatten(const Graph& graph, const InferOptions& options = {});

}  // namespace isomer
