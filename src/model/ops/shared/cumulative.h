// Shared by CumSum and CumProd: a fold of all elements up to each position, along an axis.
#pragma once

#include "model/ops/shared/define.h"

namespace isomer {

Definition define_cumulative(const Call& call, Reduction reduction);

}  // namespace isomer
