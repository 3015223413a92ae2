// The position in the input of an element of a reshaped tensor.
#pragma once

#include <vector>

#include "model/expr/formula.h"

namespace isomer {

// The position in a tensor of shape `from` of the element that is at p in shape `to`. Axes that are kept, and
// groups of axes whose extents multiply to the same product on both sides, are taken apart first, so that
// indices stay as simple as they are.
std::vector<Index> reshaped_position(const Dims& from, const Dims& to, const std::vector<Axis>& p);

}  // namespace isomer
