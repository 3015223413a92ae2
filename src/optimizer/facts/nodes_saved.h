// The number of nodes that a proposal saves.
#pragma once

#include <cstdint>

#include "optimizer/facts/proposal.h"
#include "optimizer/facts/site.h"

namespace isomer {

// Nodes whose outputs have no reader any more, without those that take their place; what folds to a constant
// is no node.
std::int64_t nodes_saved(const Site& site, const Proposal& proposal);

}  // namespace isomer
