// From a plan to C++: one function per kind of nest (equal nests share one), and `run`, which calls them in
// order.
#pragma once

#include <string>

#include "lower/nest.h"

namespace isomer::lower {

struct Emitted {
  std::string code;  // of the functions and of `run`; needs kernels/kernels.h above it
  std::size_t functions = 0;
};

// run(inputs, outputs, workspace, weights): 0, or 1 where a computed index was outside of its tensor.
Emitted emit(const Plan& plan, const std::string& prefix);

}  // namespace isomer::lower
