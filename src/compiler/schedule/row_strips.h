// Nests that compute each row from the same row of what others of them have written, as those of a softmax
// do, go strip by strip: without strips, each of them would bring whole tensors from memory again.
#pragma once

#include "compiler/schedule/layout.h"

namespace isomer::lower {

// Those that a schedule asks for by `compute_at`, whatever their size.
void choose_requested_row_strips(Plan& plan, const StripLimits& limits, const Schedules& own);
// Those that have no strips yet.
void choose_row_strips(Plan& plan, const StripLimits& limits, const Schedules& own);

}  // namespace isomer::lower
