// An input on which two models differ, by running both in float64 at the sizes that they declare.
#pragma once

#include <optional>
#include <vector>

#include "equate/likeness.h"
#include "kernel/prove/verdict.h"

namespace isomer {

// `own`: constants that only the second model has. They may be constants of the first that were folded and
// rounded. What such rounding can do to the outputs is seen by changing them a little, and only a difference
// that is much larger counts. Nor does one that the first model shows itself when constants that only it has
// are changed as little: a number that is rounded before it jumps. `proved`: outputs that are known to be
// equal.
std::optional<Refuted> differing_input(const Graph& a, const Graph& b, const std::vector<Tensor>& own,
                                       const std::vector<bool>& proved, const Likeness::Options& feeds);

}  // namespace isomer
