// Regions that are linear in one activation, and how far each of their outputs looks.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "model/analysis/analysis.h"
#include "model/graph/graph.h"
#include "model/graph/graph_index.h"
#include "model/graph/infer.h"
#include "optimizer/facts/proposal.h"

namespace isomer {

struct LinearRegion {
  std::vector<NodeId> nodes;  // in order
  Value input, output;
  bool affine = false;  // constants are added somewhere
};

// Whether it sums its inputs.
bool adds(const Node& node);

// Values that depend on constants only, and may be folded.
std::set<Value> constant_values(const Graph& graph);

// All regions of one graph, which must outlive this.
class LinearRegions {
 public:
  LinearRegions(const Graph& graph, const Inference& inference);

  // Regions that end in this value, are linear in the one value that they read, and whose inner values have
  // no other reader; of at least two nodes, the largest first, each within the one before.
  std::vector<LinearRegion> ending_in(Value output) const;
  const std::set<Value>& constants() const { return constants_; }

 private:
  struct Role {
    bool linear = false, affine = false;
  };
  Role role_of(const Inference& inference, NodeId id) const;
  bool is_stored_in_few_bits(Value v, const Inference& inference) const;
  bool is_inner(NodeId id, const std::set<NodeId>& inside) const;

  const Graph& graph_;
  GraphIndex index_;
  std::set<Value> constants_;
  std::unordered_map<NodeId, Role> roles_;
};

// The box of the region's input that one position of its output needs. Concrete sizes.
std::optional<Box> needed_input(const Graph& graph, const Inference& inference, const LinearRegion& region,
                                const Extents& position);

}  // namespace isomer
