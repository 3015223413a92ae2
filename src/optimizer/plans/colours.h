// Colours: what a node of a graph is, and what is around it, as a digest that no name and no order of nodes
// takes part in. Refined round by round: the colour of a node, of what it reads, and of who reads it (colour
// refinement, after Weisfeiler and Leman). Equal colours say "alike", never "equal": whoever acts on them has
// it proved.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "model/graph/graph.h"

namespace isomer {

// By node id, refined until no round tells more nodes apart. Constants are told apart by their elements where
// proofs know them (kernel/prove/prove.h), others by type and extents. `label`: more about a node than its
// operator, attributes, constants and declared types.
std::unordered_map<NodeId, Digest> colours(const Graph& graph,
                                           const std::function<std::string(NodeId)>& label);

// A float constant that proofs take for a symbol: its elements do not matter.
bool is_symbol(const Tensor& constant);

// An operator by itself: name, version, attributes and which inputs and outputs it has.
void add_call(Hasher& hasher, const Graph& graph, const Node& node);

}  // namespace isomer
