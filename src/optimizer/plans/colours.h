// Colours: a digest of a node and its surroundings that no name and no order of nodes affects. Refined round
// by round: the colour of a node, of the nodes it reads, and of its readers (colour refinement, after
// Weisfeiler and Leman). Equal colours mean "similar", never "equal": code that acts on them needs a proof.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "model/graph/graph.h"

namespace isomer {

// By node id, refined until a round distinguishes no more nodes. Constants are distinguished by their
// elements where proofs use them by value (kernel/prove/prove.h), others by type and extents. `label`: more
// about a node than its operator, attributes, constants and declared types.
std::unordered_map<NodeId, Digest> colours(const Graph& graph,
                                           const std::function<std::string(NodeId)>& label);

// A float constant that proofs take for a symbol: its elements do not matter.
bool is_symbol(const Tensor& constant);

// An operator by itself: name, version, attributes and which inputs and outputs it has.
void add_call(Hasher& hasher, const Graph& graph, const Node& node);

}  // namespace isomer
