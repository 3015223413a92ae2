// Where in a model the region of a plan is. Matched backwards from one of its outputs, since the inputs of a
// node have an order and its readers have none; and then by its key, which includes types, signs and the
// equality of constants.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "kernel/prove/step.h"
#include "model/graph/graph_index.h"
#include "optimizer/plans/known_region.h"

namespace isomer {

struct PlanPlace {
  std::map<std::string, std::string> names;  // of the region's values: those of the model
  std::vector<std::string> inputs, outputs;  // of the model
  std::set<std::string> replaced;            // values of the model that the region computes
};

// A node without its surroundings: its call and the known types of its outputs. A plan is filed under the
// anchor of the node that makes the first output of its region. 16 digits.
std::string anchor_of(const Graph& graph, const Inference& inference, NodeId node);

// Operators that depend on constants only, Constant nodes among them.
std::set<NodeId> constant_operators(const Graph& graph);

class PlaceFinder {
 public:
  explicit PlaceFinder(const Workpiece& piece);
  // All anchors of the model's operators.
  std::set<std::string> anchors() const;
  // Places that don't overlap each other, in the model's order.
  std::vector<PlanPlace> places(const std::string& anchor, const KnownRegion& region, const std::string& key);

 private:
  std::optional<PlanPlace> place_at(NodeId root, const KnownRegion& region, const std::string& key) const;
  const Workpiece& piece_;
  GraphIndex index_;
  std::set<NodeId> folded_;  // operators that depend on constants only
  std::map<std::string, std::vector<NodeId>> by_anchor_;
};

}  // namespace isomer
