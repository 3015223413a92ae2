// Writes values of a graph with one position of axes along which they are constant
// (optimizer/facts/constant_axes.h), from the first value that is constant there.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "model/graph/program_builder.h"
#include "optimizer/facts/constant_axes.h"
#include "optimizer/facts/site.h"

namespace isomer {

class OnceWriter {
 public:
  OnceWriter(const Site& site, const ConstantAxes& constants, ProgramBuilder& b)
      : site_(site), constants_(constants), b_(b) {}

  // nullopt: how that is computed is not known.
  std::optional<Value> of(Value v, const AxisSet& axes);
  // Its shape.
  Dims shape(Value v, const AxisSet& axes) const;
  // A shape as a value: extents with a name as an input of the graph has them.
  std::optional<Value> as_value(const Dims& shape);
  std::optional<Value> extent(const Dim& extent);
  // Nodes of the graph that were written.
  const std::set<NodeId>& nodes() const { return nodes_; }

 private:
  std::optional<Value> made(Value v, const AxisSet& axes);
  std::optional<Value> moved(Value from, const Dims& shape, const Dims& to);
  Value first(Value v, const AxisSet& axes);

  const Site& site_;
  const ConstantAxes& constants_;
  ProgramBuilder& b_;
  std::map<std::pair<Value, AxisSet>, std::optional<Value>> known_;
  std::set<NodeId> nodes_;
};

// The axes that are in both.
AxisSet in_both(const AxisSet& a, const AxisSet& b);

}  // namespace isomer
