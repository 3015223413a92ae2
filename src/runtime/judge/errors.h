// Rounding errors of a program's outputs against float64.
#pragma once

#include <algorithm>
#include <optional>

#include "model/graph/interpret.h"

namespace isomer {

// Floating-point errors of two programs against float64 (Arithmetic::Faithful): max |y - y64| / max |y64|,
// the worst output.
struct Errors {
  double before = 0, after = 0;
  double allowed(double growth) const { return std::max(growth * before, 1e-6); }
  bool within(double growth) const { return after <= allowed(growth); }
};

// The outputs in float64. nullopt: that takes too many operations, or a node has no formula.
std::optional<NamedTensors> exact_outputs(const Graph& graph, const NamedTensors& feeds,
                                          double most_operations);

// The worst output; nullopt: not comparable.
std::optional<double> error_of(const NamedTensors& outputs, const NamedTensors& exact);

}  // namespace isomer
