// How far an evaluation in float64 may be off: beside each number its *error*, in units of half the last
// place of 1 (2^-53), to the first order and never less than it. A running error: what an operation rounds is
// measured by its result, so that (0 + b) - b is exact, and (w + b) - b is off by what b has swallowed of w.
#pragma once

#include <optional>

#include "expr/formula.h"
#include "expr/tensor.h"

namespace isomer {

// A formula of doubles whose outputs are the errors of this one's. Its inputs are this one's, then their
// errors, then their sizes: |number| + error. nullopt: it has a function through which errors are not
// followed.
std::optional<Formula> error_of(const Formula& formula);

bool reads_floats(const ExprNode& expr);

}  // namespace isomer
