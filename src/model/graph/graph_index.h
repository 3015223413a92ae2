// Common queries on a graph that does not change meanwhile: the readers of a value, the value of a name, the
// position of a node, and the values that depend only on constants.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/graph/graph.h"

namespace isomer {

class GraphIndex {
 public:
  explicit GraphIndex(const Graph& graph);

  // Nodes that read it, bodies' captures included.
  const std::vector<NodeId>& readers(Value v) const;
  const std::map<Value, std::vector<NodeId>>& all_readers() const { return readers_; }
  // The one node that reads this value, if nothing else does and it is no output.
  std::optional<NodeId> only_reader(Value v) const;
  bool is_output(Value v) const { return outputs_.contains(v); }
  std::optional<Value> find(const std::string& name) const;
  std::size_t position(NodeId id) const { return positions_.at(id); }  // in the graph's order

 private:
  std::map<Value, std::vector<NodeId>> readers_;
  std::set<Value> outputs_;
  std::unordered_map<std::string, Value> names_;
  std::unordered_map<NodeId, std::size_t> positions_;
};

// Nodes that read nothing but each other's values, and no input is among them. A node that `may_be` says no
// to is left out, and so is what reads it.
std::set<NodeId> constant_nodes(const Graph& graph, const std::function<bool(NodeId)>& may_be);

}  // namespace isomer
