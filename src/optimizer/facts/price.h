// The cost of a program on a machine: scalar operations at their rates, plus a cost for each element and
// node. Pure functions of their arguments: nothing is measured.
#pragma once

#include <optional>
#include <set>

#include "model/graph/graph.h"
#include "model/graph/infer.h"
#include "optimizer/facts/machine.h"

namespace isomer {

// The value of an extent; named ones are as large as where the model is measured, else of a size that stands
// for any.
std::optional<std::int64_t> typical_size(const Dim& dim, const Machine& machine);

// Nodes that depend on constants only and will be folded.
std::set<NodeId> folded_nodes(const Graph& graph);

// The price of one node; nullopt: unknown.
std::optional<double> price_of(const Graph& graph, const Inference& inference, NodeId id,
                               const Machine& machine);

// The price of a whole program, without constants to be folded. Nodes of unknown price are free: a node that
// stays costs the same before and after.
double price(const Graph& graph, const Inference& inference, const Machine& machine);

}  // namespace isomer
