// The search: simplify, propose, prove, choose, until no new step is faster. A runtime decides what is chosen
// (assembly.h), or the analytic cost.
#pragma once

#include <vector>

#include "optimizer/search/context.h"

namespace isomer {

// The drafts, step by step; the last is the best.
Result<std::vector<Draft>> search(const SearchOptions& options, const Model& model, Trials* trials,
                                  SearchReport& report);

}  // namespace isomer
