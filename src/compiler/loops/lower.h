// From a graph, with known sizes or sizes of each run, to a plan: each stage of each formula becomes a nest;
// then nests are inlined into their readers, so that few tensors stay in memory.
#pragma once

#include "base/result.h"
#include "compiler/loops/compose.h"
#include "compiler/loops/nest.h"
#include "model/graph/graph.h"
#include "model/graph/infer.h"

namespace isomer::lower {

// Every stage a nest of its own, in row-major order. Error: a node without a formula, by name; a size that is
// not known.
// `open`: sizes that every run is given.
Result<Plan> lower_graph(const Graph& graph, const InferOptions& sizes, AxisNumbers& numbers,
                         const Sizes& open = {});

// Whether it can be lowered with all of its sizes open. Error: why not.
Status check_open(const Graph& graph);

// Writes nests into their readers where that computes nothing twice; what is not read is dropped.
void compose_nests(Plan& plan, AxisNumbers& numbers);

}  // namespace isomer::lower
