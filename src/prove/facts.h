// What proofs may use of a constant's value, the same for all who have to agree about it: the set algebra,
// the field witness, the key of the proof cache.
#pragma once

#include "algebra/tensor.h"

namespace isomer {

bool all_positive(const Tensor& tensor);

}  // namespace isomer
