// Denormal numbers of constants, written as zero: float32 numbers below 2^-126, which processors compute with
// slowly, or take for zero themselves where a program asks them to.
//
// This is the one step after which a model is not equal to the one before over the reals. What holds is
// stated: OUT equals IN in which these numbers are zero. Every answer that rests on it says so and counts
// them (docs/equality.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/graph/graph.h"

namespace isomer {

bool is_denormal(float value);  // and not zero

struct Flushed {
  Graph graph;
  std::uint64_t numbers = 0;  // that are zero now
};

// Error: a name that is not of a float32 constant, or of one that the model's caller may override.
Result<Flushed> flush_denormals(const Graph& graph, const std::vector<std::string>& constants);

}  // namespace isomer
