// A store of plans (optimizer/plans/store.h) as a source of ideas for a whole search, asked before all
// others. What it says is a proposal: proved here, and measured here unless the user trusts the timings of
// others. What a search found is told to the store afterwards.
//
// Not a proposer of optimizer/propose/list.h: a plan is a chain of steps, each about what the one before it
// made.
#pragma once

#include "optimizer/search/context.h"

namespace isomer {

// The draft with those plans that are proved and pay; the draft as it is if none does.
Result<Draft> with_plans(SearchContext& context, const Draft& draft);

// Whether a search with these options, by this program, has been all through whatever surrounds each node
// here, and found nothing more. Where a runtime decides: as others measured it, so only for who trusts that.
bool is_settled(SearchContext& context, const Draft& draft);

// Tells the store what was found for a model: the draft, which the model may have become; `is_done`: nothing
// was left to try. How many plans.
std::size_t keep_plans(const SearchOptions& options, const Model& model, const Draft& best, bool is_done);

}  // namespace isomer
