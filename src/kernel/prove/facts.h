// The facts about a constant's value that proofs may use. The set algebra, the field witness and the key of
// the proof cache must agree about them, so they share this code.
#pragma once

#include "model/expr/tensor.h"

namespace isomer {

bool all_positive(const Tensor& tensor);

// Constants of the same numbers, in the same order, are one tensor to proofs, whatever axes of one element
// they have: that tensor.
Tensor without_unit_axes(const Tensor& tensor);

}  // namespace isomer
