// The Gaussian error linear unit and its approximation, for the operators that have it inside.
#pragma once

#include "model/ops/shared/define.h"

namespace isomer {

Expr gelu(const Expr& x);       // x/2 · (1 + erf(x/√2))
Expr tanh_gelu(const Expr& x);  // x/2 · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))

}  // namespace isomer
