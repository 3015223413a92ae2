// Which operators the runtime runs on empty tensors, with the results of their formulas.
//
// Tried on ONNX Runtime (tests/evidence/empty_ort.py): whatever extent is 0, a call of these operators runs,
// unless a condition of its formula excludes it. For other operators nothing is promised about empty tensors.
#pragma once

#include "model/ops/operator.h"

namespace isomer {

bool runs_on_nothing(const Operator& op);

}  // namespace isomer
