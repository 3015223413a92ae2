// The positions of every value that its readers need, all of them together, and what nodes can compute of
// these alone. Derived once for a graph, against its order: the positions that readers need of a node
// determine those that the node needs.
//
// Whether computing less is worth the slices is decided elsewhere (optimizer/propose/positions/needed.cpp).
#pragma once

#include <map>
#include <set>
#include <unordered_map>

#include "optimizer/facts/node_cut.h"

namespace isomer {

class NeededPositions {
 public:
  explicit NeededPositions(const Site& site);

  // The positions of a value that must be computed. All of it: no axes, or whole ones.
  const Needs& of(Value v) const;
  bool is_cut(Value v) const { return isomer::is_cut(of(v)); }
  // For nodes that make or read a cut value.
  const NodeCut* cut(NodeId id) const;
  const Choices& selections() const { return selections_; }

 private:
  std::map<Value, Needs> needs_;
  std::unordered_map<NodeId, NodeCut> cuts_;
  Choices selections_;
};

}  // namespace isomer
