// The canonical hash: a digest of a value's computation, independent of names.
//
// A Merkle hash from the inputs down: an input is its position and declared type; an initializer its type,
// extents and elements; an operator its name, its opset's version, attributes, inputs and outputs. A node
// that may be more than a function of its inputs (purity.h) is numbered, so that two such nodes never hash
// equal. Equal hashes mean the same computation; different hashes mean nothing.
#pragma once

#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "model/graph/content.h"
#include "model/graph/graph.h"

namespace isomer {

struct CanonicalHashes {
  Digest of(Value value) const;
  Digest graph;  // of all inputs and outputs, in their order
  std::unordered_map<NodeId, Digest> nodes;
};

CanonicalHashes canonical_hashes(const Graph& graph, ContentDigests digests = ContentDigests::Identity);

// Some nodes of a graph: what they compute of the outputs, given the inputs. Initializers need not be listed.
struct Region {
  std::vector<NodeId> nodes;  // in topological order
  std::vector<Value> inputs, outputs;
};

// The hash of a region by itself: equal blocks of a model hash equal. `types`: one per input, or none at all;
// their symbols count only by where they recur, not by their names.
Digest canonical_hash(const Graph& graph, const Region& region, const std::vector<TensorType>& types = {},
                      ContentDigests digests = ContentDigests::Identity);

}  // namespace isomer
