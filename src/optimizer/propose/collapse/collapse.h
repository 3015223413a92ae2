// One region as one convolution, matrix product or scale and shift.
#pragma once

#include <string>
#include <vector>

#include "optimizer/facts/linear_region.h"
#include "optimizer/facts/proposal.h"
#include "optimizer/facts/site.h"

namespace isomer {

struct Collapsed {
  Proposal proposal;
  bool has_map = false;  // a constant of the output's size is added
};

// The forms of a region that may be faster, the best one first; none: `why` not. `any_price`: also those that
// the price rejects.
std::vector<Collapsed> collapse_region(const Site& site, const LinearRegion& region, bool any_price,
                                       std::string& why);

}  // namespace isomer
