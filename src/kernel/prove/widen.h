// Widening: nodes of 16-bit floats that compute in float32, from border to border. Their inputs are cast to
// float32 first, weights too; their outputs are cast back last for other readers.
//
// Over the reals nothing changes: each node computes by its original formula, which is compared part by part,
// with float32 in place of 16-bit floats. Only rounding changes, which is no part of any proof
// (docs/concepts/equality.md): a node of 16-bit floats rounds every result, and so does the cast in its place
// for other readers; between them less is rounded. A cast of the model is never dropped: one to 16 bits is a
// border. So are nodes that make integers or truth values of 16-bit floats.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/graph/graph.h"
#include "model/graph/infer.h"

namespace isomer {

// The graph in which the nodes that make these values compute in float32. Error: a node whose formula is
// another one there, or that has none; a name that is taken.
inline constexpr std::string_view kWideSuffix = "_wide";  // of a value in float32
inline constexpr std::string_view kNarrowSuffix =
    "_narrow";  // of one that is cast back, where its name is gone
Result<Graph> widen(const Graph& graph, const std::vector<std::string>& values);

// The largest set of nodes that can be widened together: all that read or make 16-bit floats, but for those
// that `widen` would refuse. No part of any proof.
std::set<NodeId> widenable(const Graph& graph, const Inference& inference);

}  // namespace isomer
