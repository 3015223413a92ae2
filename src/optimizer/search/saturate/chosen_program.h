// From a choice of nodes in an e-graph back to proposals: the changes of a state that make it the chosen
// program. Each connected piece is one claim, proved like any other; or all of it is one, where a piece alone
// lacks context (Relu(a) equals a only with the knowledge that a is a Relu).
#pragma once

#include "optimizer/search/saturate/extraction.h"
#include "optimizer/search/saturate/program_classes.h"

namespace isomer {

enum class Claims : std::uint8_t { OfPieces, OfAll };

// Empty: the state is that program already, or the change can't be said of its values.
std::vector<Proposal> proposals_for(ProgramClasses& classes, const Graph& state, const Placed& placed,
                                    const Extraction& wanted, const Machine& machine, Claims claims);

}  // namespace isomer
