// Shared by MaxPool, AveragePool and LpPool: the taps of their windows.
#pragma once

#include "model/ops/shared/window.h"

namespace isomer {

// An input [N, C, ...] seen through windows: its element at tap k of the window of output position p.
struct Pool {
  Window window;
  std::vector<Axis> p, k;
  Expr tap;
  Domain inside;  // where the tap lies in the input, not in the padding
};
// Throws IllegalCall or OpaqueCall; refuses windows that may hold no element of the input.
Pool read_pool(const Call& call, FormulaBuilder& f);

}  // namespace isomer
