// Functions that are written out in several nodes, in the engine's own form. A function of one number is
// recognised by its values, whatever nodes compute it (optimizer/facts/scalar_region.h), and the prover
// decides. Functions that an engine fuses by the pattern of their nodes get the pattern that it knows. The
// same for normalizations (optimizer/facts/normalization.h).
#pragma once

#include <set>

#include "optimizer/facts/site.h"

namespace isomer {

// The part of `functions` that looks along axes: softmax and normalizations. The nodes that these are made
// of.
std::set<NodeId> propose_normalizations(const Site& site, Proposals& out);

}  // namespace isomer
