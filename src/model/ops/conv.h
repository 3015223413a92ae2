// The axes of a convolution: what Conv, ConvInteger and FusedConv share.
#pragma once

#include "model/ops/shared/window.h"

namespace isomer {

// y[p] = Σ_{reduced} x[at_x] · w[at_w], x zero outside.
struct ConvolutionAxes {
  std::vector<Axis> p, reduced;
  std::vector<Index> at_x, at_w;
};
// Throws IllegalCall that names the attribute, or OpaqueCall.
ConvolutionAxes read_convolution(const Call& call, FormulaBuilder& f, const Dims& x, const Dims& w);

}  // namespace isomer
