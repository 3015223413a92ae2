// A constant of the other model but for its last digits: both were folded from one source, which neither has.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "model/graph/graph.h"

namespace isomer {

// A program without inputs: the nearest of the sources that look alike, reshaped; nullopt: none does.
std::optional<Graph> restated_constant(const Tensor& wanted, const std::vector<Tensor>& sources,
                                       const Opsets& opsets);

}  // namespace isomer
