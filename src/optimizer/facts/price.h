// What a program costs on a machine: scalar operations at their rates, and something for each element and
// node. Functions of their arguments and of nothing else: nobody is asked, nothing is measured.
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

// Of one node; nullopt: not known.
std::optional<double> price_of(const Graph& graph, const Inference& inference, NodeId id,
                               const Machine& machine);

// Of a whole program, without what will be folded. Nodes of unknown price are free: what nobody rewrites
// costs the same before and after.
double price(const Graph& graph, const Inference& inference, const Machine& machine);

}  // namespace isomer
