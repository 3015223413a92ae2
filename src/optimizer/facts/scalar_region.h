// Regions that are a function of one number: each element of the output is the same function of the element
// of one value at its place, in any number of nodes. The function is recognised by its values. Untrusted: it
// only supports proposals.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "model/graph/interpret.h"
#include "optimizer/facts/site.h"

namespace isomer {

struct ScalarRegion {
  Value input, output;
  std::vector<NodeId> nodes;  // the last first
};

class ScalarRegions {
 public:
  // The site must outlive this.
  explicit ScalarRegions(const Site& site);

  // Regions that end in this value, each within the next.
  std::vector<ScalarRegion> ending_in(Value output) const;
  // The function at these numbers; nullopt: it could not be computed.
  std::optional<std::vector<double>> values(const ScalarRegion& region, const std::vector<double>& at,
                                            Arithmetic arithmetic = Arithmetic::Double) const;
  // The single numbers that it computes with, as constants of the graph.
  std::vector<Value> numbers(const ScalarRegion& region) const;

 private:
  bool is_number(Value v) const;
  bool is_scalar(NodeId id) const;

  const Site& site_;
  std::set<NodeId> scalar_;
};

// The outputs of a program of one input and one output, both of one axis, for these numbers.
std::optional<std::vector<double>> values_of(const Graph& program, ElementType type,
                                             const std::vector<double>& at,
                                             Arithmetic arithmetic = Arithmetic::Double);

}  // namespace isomer
