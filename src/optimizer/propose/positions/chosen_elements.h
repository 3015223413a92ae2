// Elements that an index chooses one by one (GatherElements) are chosen before functions are computed of
// them.
#pragma once

#include "optimizer/facts/site.h"

namespace isomer {

void propose_chosen_elements(const Site& site, bool any_price, Proposals& out);

}  // namespace isomer
