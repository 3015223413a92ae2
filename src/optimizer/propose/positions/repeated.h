#pragma once

#include "optimizer/facts/constant_axes.h"
#include "optimizer/facts/site.h"

namespace isomer {

// What is the same along an axis (optimizer/facts/constant_axes.h) is computed once, and repeated where it
// meets what is not, by broadcasting where that is possible.
Proposals propose_repeated(const Graph& graph, const Inference& inference,
                           const ProposeOptions& options = {});

// A convolution of such values, alone or concatenated with others, borders and all: along an axis on which
// its input is constant, few outputs differ (`repeated_windows.cpp`).
void propose_repeated_windows(const Site& site, const ConstantAxes& constants, Proposals& out);

}  // namespace isomer
