// The attribute stash_type of normalizations: in which precision they compute their statistics.
#pragma once

#include "model/ops/shared/define.h"

namespace isomer {

// Throws OpaqueCall if the statistics are rounded to less than the input has: a rounding in the middle is not
// algebra.
inline void require_exact_stash(const Call& call) {
  const std::int64_t stash = call.integer("stash_type", 1);
  const bool widens =
      stash == static_cast<std::int64_t>(ElementType::Float) && call.type(0) != ElementType::Double;
  if (!widens && stash != static_cast<std::int64_t>(call.type(0)))
    throw OpaqueCall("statistics in less than the input's precision");
}

}  // namespace isomer
