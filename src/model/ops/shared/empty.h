// Which operators the runtime runs on tensors without elements, and computes what their formulas say.
//
// Tried on ONNX Runtime (tests/evidence/empty_ort.py): whatever extent is 0, a call of these operators runs,
// unless a condition of its formula speaks against it. Of the others nothing is promised about empty tensors.
#pragma once

#include "model/ops/operator.h"

namespace isomer {

bool runs_on_nothing(const Operator& op);

}  // namespace isomer
