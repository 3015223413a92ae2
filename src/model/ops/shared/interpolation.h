// Interpolation at coordinates that are values, not indices: what GridSample and RoiAlign share. An element
// takes part with a weight that depends on its distance, so that the whole is a sum over all elements.
#pragma once

#include "model/ops/shared/define.h"

namespace isomer {

// How much the element at u counts for the point at y, on the lines between neighbours: max(0, 1 - |y - u|).
Expr linear_weight(const Expr& y, const Index& u);
// The same on Keys' spline with a = -3/4, through four neighbours.
Expr cubic_weight(const Expr& y, const Index& u);
// 1 for the element at y, which has no fraction; 0 for the others.
Expr exact_weight(const Expr& y, const Index& u);

Expr clamped(const Expr& value, const Expr& low, const Expr& high);
// 1 where low <= value <= high, else 0.
Expr is_between(const Expr& low, const Expr& value, const Expr& high);

}  // namespace isomer
