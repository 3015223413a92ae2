// A model searched region by region: each unique one once, by a strategy that may accept a loss on its way;
// what was found is done at all of its places, step by step.
#pragma once

#include "optimizer/search/context.h"

namespace isomer {

// The draft with the rewrites that are faster; the draft as it is if there is none.
Result<Draft> search_regions(SearchContext& context, const Draft& draft, bool shifted);

}  // namespace isomer
