// The axes of a matrix product as numpy's: what MatMul and its relatives share.
#pragma once

#include "model/ops/shared/define.h"

namespace isomer {

// y[p] = Σ_k a[at_a] · b[at_b]. Axes in front broadcast; an operand of rank 1 has no m, or no n.
struct MatrixProduct {
  std::vector<Axis> p;
  Axis k;
  std::vector<Index> at_a, at_b;
};
// Throws IllegalCall where the operands do not fit.
MatrixProduct matrix_product(const Call& call, FormulaBuilder& f, const Dims& a, const Dims& b);

}  // namespace isomer
