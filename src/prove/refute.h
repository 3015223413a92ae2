// Looks for an input on which two programs differ, by running both in float64.
#pragma once

#include <optional>

#include "prove/verdict.h"

namespace isomer {

// nullopt: none found. Symbolic sizes are instantiated with small numbers that satisfy the preconditions.
std::optional<Refuted> find_counterexample(const Graph& a, const Graph& b, const Dims& preconditions,
                                           std::uint64_t key);

}  // namespace isomer
