// Value numbers: equal computations in two programs get equal numbers. By full comparison, never by digest
// alone.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "model/graph/graph.h"
#include "model/graph/infer.h"

namespace isomer {

// Nodes that some output depends on.
std::set<NodeId> needed_nodes(const Graph& graph);

class ValueNumbers {
 public:
  // Numbers all nodes of a graph; inputs are known by name and type. The graph and its inference must outlive
  // this.
  void add(const Graph& graph, const Inference& inference);
  int of(const Graph& graph, NodeId node) const { return numbers_.at({&graph, node}); }
  // Whether in every graph that was added a node that an output depends on has this number. A program need
  // not be defined for values that it doesn't need.
  bool is_common(int number) const { return seen_in_[static_cast<std::size_t>(number)] == graphs_; }

 private:
  struct Entry {
    const Graph* graph;
    const Inference* inference;
    NodeId node;
    std::vector<std::pair<int, std::uint32_t>> inputs;
    int number;
  };
  bool is_same(const Entry& a, const Entry& b) const;

  int graphs_ = 0;
  std::map<std::pair<const Graph*, NodeId>, int> numbers_;
  std::vector<int> seen_in_, last_seen_;
  std::unordered_map<Digest, std::vector<Entry>> entries_;
};

}  // namespace isomer
