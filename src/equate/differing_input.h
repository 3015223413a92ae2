// An input on which two models differ, by running both in float64 at the sizes that they declare.
#pragma once

#include <optional>
#include <vector>

#include "equate/likeness.h"
#include "prove/verdict.h"

namespace isomer {

// `own`: constants that only the second model has, which may be rounded ones of the first: what that can do
// is seen by shaking them, and a difference counts where it is much larger. `proved`: outputs that need no
// look.
std::optional<Refuted> differing_input(const Graph& a, const Graph& b, const std::vector<Tensor>& own,
                                       const std::vector<bool>& proved, const Likeness::Options& feeds);

}  // namespace isomer
