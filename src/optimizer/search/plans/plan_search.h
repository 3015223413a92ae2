// A store of plans (optimizer/plans/store.h) as a source of ideas for a whole search, asked before all
// others. What it says is a proposal: proved and measured here. What a search found is written to the store
// afterwards.
//
// Not a proposer of optimizer/propose/list.h: a plan is a chain of steps, each about what the one before it
// made.
#pragma once

#include "optimizer/search/context.h"

namespace isomer {

// The draft with those plans that are proved and pay; the draft as it is if none does.
Result<Draft> with_plans(SearchContext& context, const Draft& draft);

// Writes what was found for a model to the store; `best`: what the model has become. How many plans.
std::size_t keep_plans(const SearchOptions& options, const Model& model, const Draft& best);

}  // namespace isomer
