// A store of plans (optimizer/plans/store.h) as a source of ideas for a whole search, used before all others.
// A plan is a proposal: proved and measured here. The results of the search are written to the store
// afterwards.
//
// Not a proposer of optimizer/propose/list.h: a plan is a chain of steps, each about the result of the one
// before it.
#pragma once

#include "optimizer/search/context.h"

namespace isomer {

// The draft with the plans that are proved and faster; the draft as it is if there is none.
Result<Draft> with_plans(SearchContext& context, const Draft& draft);

// Writes what was found for a model to the store; `best`: what the model has become. How many plans.
std::size_t keep_plans(const SearchOptions& options, const Model& model, const Draft& best);

}  // namespace isomer
