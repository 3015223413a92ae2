// Open sizes that a model's own constants leave little choice of: a product with a table of 80 rows demands
// 80 columns.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/judge/feeds.h"

namespace isomer {

// Solves what the operators' formulas need of one open size by itself, and gives what is left where that is
// little.
std::vector<std::int64_t> demanded_sizes(const Graph& graph, const InferOptions& given,
                                         const std::vector<AssumedSize>& open);

}  // namespace isomer
