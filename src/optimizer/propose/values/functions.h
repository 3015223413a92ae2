// Functions that are spelled out, as the engine has them: a function of one number is known by its values,
// whatever nodes compute it (optimizer/facts/scalar_region.h), and the prover decides. Of functions that an
// engine fuses by the look of their nodes, the look that it knows. Likewise normalizations
// (optimizer/facts/normalization.h).
#pragma once

#include <set>

#include "optimizer/facts/site.h"

namespace isomer {

// The part of `functions` that looks along axes: softmax and normalizations. The nodes that these are made
// of.
std::set<NodeId> propose_normalizations(const Site& site, Proposals& out);

}  // namespace isomer
