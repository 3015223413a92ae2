// Denormal numbers of constants, written as zero: float32 numbers below 2^-126. Processors compute with them
// slowly, or take them for zero if a program sets that mode.
//
// This is the one step after which a model is not equal over the reals to the model before. The certificate
// states what holds: OUT equals IN with these numbers set to zero. Every answer that rests on it says so and
// counts them (docs/concepts/equality.md).
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
