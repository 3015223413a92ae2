// The window functions of signal processing: a0 - a1 · cos(2πi / n) + a2 · cos(4πi / n), n = size, or size -
// 1 if not periodic.
#pragma once

#include "model/ops/shared/define.h"

namespace isomer {

Definition define_window_function(const Call& call, double a0, double a1, double a2);

}  // namespace isomer
