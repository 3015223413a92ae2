// A constant that is another one times a vector along one of its axes: a scale that was folded into weights.
// The vector is searched among the other constants, as it is, inverted, or as a product or quotient of two.
// Also several such constants side by side, and the product of two matrices.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "model/graph/graph.h"

namespace isomer {

// A program without inputs that computes `wanted`, but for rounding; nullopt: none was found.
std::optional<Graph> scaled_constant(const Tensor& wanted, const std::vector<Tensor>& sources,
                                     const Opsets& opsets);

}  // namespace isomer
