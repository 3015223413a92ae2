// ScatterElements, which opsets 9 and 10 call Scatter.
#pragma once

#include "model/ops/operator.h"

namespace isomer::ops {

Definition define_scatter_elements(const Call& call);

}  // namespace isomer::ops
