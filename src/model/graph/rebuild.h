// Rewriting: a new graph out of an old one, which stays as it was.
//
// Here only structure: that a replacement computes the same is for kernel/prove/ to show.
#pragma once

#include <functional>
#include <map>

#include "base/result.h"
#include "model/graph/graph.h"

namespace isomer {

using Replacements = std::map<Value, Value>;

// The graph in which every reader of a key (nodes, captures, graph outputs) reads its replacement, also where
// that is itself replaced. Replacements are values of the graph, wherever in its order they stand. A node all
// of whose outputs are replaced is gone; other nodes that nothing reads any more stay, for
// `without_dead_nodes`.
//
// Names of graph outputs and of captured values stay: the replacement takes the name over, or an Identity
// gives it. Error: a replacement that depends on what it replaces; a graph input that is also an output,
// replaced.
Result<Graph> replace(const Graph& graph, const Replacements& replacements);

// The graph without operators and initializers that no output depends on, but for operators that may have an
// effect.
Graph without_dead_nodes(const Graph& graph);

// The same graph with changed nodes: names, declarations, tensors, attributes. The inputs of nodes stay.
Graph with_changed_nodes(const Graph& graph, const std::function<void(Node&)>& change);

}  // namespace isomer
