// A constant each of whose taps is a combination of another one's taps with small rational coefficients:
// kernels that were split into phases, or transformed. The coefficients are found by least squares and
// rounded.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "model/graph/graph.h"

namespace isomer {

// A program without inputs that computes `wanted`, but for rounding; nullopt: none was found.
std::optional<Graph> combined_constant(const Tensor& wanted, const std::vector<Tensor>& sources,
                                       const Opsets& opsets);

}  // namespace isomer
