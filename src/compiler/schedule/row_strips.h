// Nests that compute each row from the same row of other nests' tensors, as those of a softmax do, go strip
// by strip: without strips, each of them would read whole tensors from memory again.
#pragma once

#include "compiler/schedule/layout.h"

namespace isomer::lower {

// The strips that a schedule requests by `compute_at`, of any size.
void choose_requested_row_strips(Plan& plan, const StripLimits& limits, const Schedules& own);
// The strips of nests that have none yet.
void choose_row_strips(Plan& plan, const StripLimits& limits, const Schedules& own);

}  // namespace isomer::lower
