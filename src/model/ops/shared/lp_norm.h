// The p-norm, which LpPool, GlobalLpPool and LpNormalization share: (Σ |x|^p)^(1/p) for an integer p >= 1.
#pragma once

#include "model/ops/shared/define.h"

namespace isomer {

// The attribute p. Throws OpaqueCall if it is below 1.
std::int64_t read_norm(const Call& call);
// |x|^p, the term of the sum; and the p-th root of the sum.
Expr norm_term(const Expr& x, std::int64_t p);
Expr norm_root(const Expr& sum, std::int64_t p);

}  // namespace isomer
