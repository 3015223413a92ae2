// Quantisation: what QuantizeLinear, DequantizeLinear and their relatives share.
#pragma once

#include "ops/define.h"

namespace isomer {

// The nearest value of an integer type of up to 16 bits: values beyond its limits become these.
Expr saturate(const Expr& x, ElementType to);
// saturate(round(x / scale) + zero point), halves to the even integer.
Expr quantized(const Expr& x, const Expr& scale, const Expr& zero_point);

// Where a scale or zero point is read for a position p of the input: one for all, one per index of `axis`, or
// one per block of `block_size` along it. Throws IllegalCall.
std::vector<Index> parameter_at(const Call& call, int parameter, const std::vector<Axis>& p);

// An element less its zero point (which may be none), as a wider integer. Throws IllegalCall.
Expr centred(const Expr& x, const Expr& zero_point, ElementType wide);

}  // namespace isomer
