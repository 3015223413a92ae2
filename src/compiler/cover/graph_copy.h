// A graph whose nodes are copied into another one, some of them changed. Internal to the cutting of models.
#pragma once

#include <map>

#include "model/graph/graph.h"
#include "model/graph/infer.h"

namespace isomer {

class GraphCopy {
 public:
  GraphCopy(const Graph& from, Graph to) : from_(from), to_(std::move(to)) {}

  Value of(Value v) const { return v.exists() ? made_.at(v) : v; }
  void set(Value from, Value to) { made_[from] = to; }
  bool has(NodeId id) const { return made_.contains({id, 0}); }
  NodeId add(Node node) { return to_.add(std::move(node)); }
  void copy(NodeId id);
  Graph& graph() { return to_; }
  // With the inputs and outputs of the graph that was copied.
  Graph finish();

 private:
  const Graph& from_;
  Graph to_;
  std::map<Value, Value> made_;
};

// The type and shape that inference says.
DeclaredType declared_as(const ValueInfo& info);

}  // namespace isomer
