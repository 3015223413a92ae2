// From a plan to C++: one function per kind of nest (equal nests share one), and `run`, which calls them in
// order.
#pragma once

#include <string>

#include "compiler/loops/nest.h"

namespace isomer::lower {

struct Emitted {
  std::string code;  // of the functions and of `run`; needs module.h's kernels_of above it
  std::size_t functions = 0;
};

// PREFIX_all(inputs, outputs, workspace, weights, team), before them `sizes`, if some are open: 0, or 1 where
// a computed index was outside of its tensor.
Emitted emit(const Plan& plan, const std::string& prefix);
// A number as C++ over `sizes`, the array that a run is given.
std::string size_text(const Plan& plan, const Dim& dim);
// For a plan with open sizes, before that, and before its callers: PREFIX_may_have(sizes),
// PREFIX_places(sizes, places), which is the size of the workspace, PREFIX_shape_in and _out(sizes, number,
// shape).
std::string emit_sizes(const Plan& plan, const std::string& prefix);

}  // namespace isomer::lower
