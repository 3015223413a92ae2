// What ArgMax and ArgMin share: where along an axis the largest or smallest element is; the first such place,
// or the last.
#pragma once

#include "model/ops/shared/define.h"

namespace isomer {

Definition define_arg_extremum(const Call& call, Reduction extremum);

}  // namespace isomer
