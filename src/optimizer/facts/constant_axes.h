// Axes along which a value is constant, whatever the inputs: values that were expanded, tiled, broadcast from
// one element, concatenated with themselves or filled with a number, and everything that is computed from
// them position by position. Derived from the formulas, for all operators at once and for all sizes, without
// the bytes of constants. Untrusted: it only supports proposals.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "optimizer/facts/site.h"

namespace isomer {

// Per axis of a value. An axis of one element is none of them: there is nothing to gain.
using AxisSet = std::vector<bool>;
bool is_empty(const AxisSet& axes);

class ConstantAxes {
 public:
  explicit ConstantAxes(const Site& site);
  // Empty where none is known.
  const AxisSet& of(Value v) const;
  bool are_none() const { return known_.empty(); }

 private:
  bool reads_its_own_shape(const Site& site, const Node& node, NodeId id) const;
  void note(Value v, AxisSet axes);
  std::map<Value, AxisSet> known_;
};

// For each input of a node the axes that are read only at positions along these axes of the output: where the
// output is constant along these, one position of the inputs' axes is enough. nullopt: some are read at
// positions along these axes and others together.
std::optional<std::vector<AxisSet>> read_along(const Formula& formula, int output, const AxisSet& axes);

}  // namespace isomer
