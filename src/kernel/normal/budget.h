// The limits of a proof. Separate from the sets, whose headers few files need.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/normal/by_value.h"

namespace isomer {

// The limits of one proof. They are counts, never seconds, so that the same question has the same answer.
struct Budget {
  std::uint64_t set_operations = std::uint64_t{1} << 22;
  std::size_t terms = 4096;    // of one value
  int dimensions = 64;         // of one set
  int equal_factors = 4;       // in one product
  std::int64_t unrolled = 64;  // values of one bound axis, or of one symbolic quotient
  ByValue by_value = {};
  int candidates = 1;  // coordinates of an element that are tried for a value
};

}  // namespace isomer
