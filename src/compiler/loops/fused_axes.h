// Axes that several were fused to, where the extents of these are open sizes.
#pragma once

#include <vector>

#include "model/expr/expr.h"

namespace isomer::lower {

// Positions over axes, and conditions on these.
struct Positions {
  std::vector<Axis> axes = {};
  std::vector<Index> at = {};
  Domain domain = {};
};
// The same over other axes: an axis that fuses several, which an open size separates again, is these: f = D*a
// + b goes through each f below A*D once, as (a, b) goes through the positions of A times D. A quotient of f
// by D is then affine.
Positions unfuse(Positions positions);
// Whether an index along an axis of this extent is seen to be inside of it, over such axes, too.
bool is_inside(const Index& at, const Dim& extent);

}  // namespace isomer::lower
