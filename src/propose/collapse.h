// One region as one convolution, matrix product or scale and shift.
#pragma once

#include <string>
#include <vector>

#include "rewrite/linear_region.h"
#include "rewrite/site.h"

namespace isomer {

// The forms of a region that may pay, the best one first; none: `why` not. `any_price`: also those that the
// price says no to.
std::vector<Proposal> collapse_region(const Site& site, const LinearRegion& region, bool any_price,
                                      std::string& why);

}  // namespace isomer
