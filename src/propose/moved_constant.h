// A constant whose numbers are those of other constants, moved: concatenated, cut, padded with zeros, turned,
// strided, reshaped. Found by looking where its numbers occur; proposed as a program that moves them.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace isomer {

// A program without inputs that computes exactly `wanted` from some of the sources; nullopt: none was found.
std::optional<Graph> moved_constant(const Tensor& wanted, const std::vector<Tensor>& sources,
                                    const std::map<std::string, int, std::less<>>& opsets);

}  // namespace isomer
