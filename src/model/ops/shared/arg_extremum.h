// Shared by ArgMax and ArgMin: the position of the largest or smallest element along an axis; the first such
// position, or the last.
#pragma once

#include "model/ops/shared/define.h"

namespace isomer {

Definition define_arg_extremum(const Call& call, Reduction extremum);

}  // namespace isomer
