// A formula for many inputs at once: a last axis, the lane, is added to every tensor but the constants, so
// that an interpreter's overhead is paid once for all lanes and its loops run over them.
#pragma once

#include "model/expr/formula.h"

namespace isomer::rules {

constexpr std::size_t kLanes = 64;  // several vectors of numbers, and few that stay unused

// `is_constant[k]`: input k is the same in all lanes.
Formula with_lanes(const Formula& formula, const std::vector<bool>& is_constant);

}  // namespace isomer::rules
