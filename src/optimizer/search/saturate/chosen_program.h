// From a choice of nodes in an e-graph back to proposals: what a state has to change to be the chosen
// program. Each connected piece of it is one claim, to be proved like any other; or all of it is, where a
// piece by itself does not say enough (Relu(a) is a only for those who know that a is a Relu).
#pragma once

#include "optimizer/search/saturate/extraction.h"
#include "optimizer/search/saturate/program_classes.h"

namespace isomer {

enum class Claims : std::uint8_t { OfPieces, OfAll };

// Empty: the state is that program already, or the change can't be said of its values.
std::vector<Proposal> proposals_for(ProgramClasses& classes, const Graph& state, const Placed& placed,
                                    const Extraction& wanted, const Machine& machine, Claims claims);

}  // namespace isomer
