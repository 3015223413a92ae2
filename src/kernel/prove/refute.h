// Looks for an input on which two programs differ, by running both in float64.
#pragma once

#include <optional>

#include "kernel/prove/prove.h"

namespace isomer {

// Where the element of this number is, row-major.
Extents position_of(std::int64_t linear, const Extents& extents);

// A `Refuter`. Symbolic sizes are instantiated with small numbers that satisfy the preconditions.
std::optional<Refuted> find_counterexample(const Graph& a, const Graph& b, const Dims& preconditions,
                                           std::uint64_t key);

}  // namespace isomer
