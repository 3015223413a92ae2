// A part of `repeated` in a separate file.
#pragma once

#include "optimizer/facts/constant_axes.h"
#include "optimizer/facts/site.h"

namespace isomer {

// A convolution of values that are the same along an axis, alone or concatenated with others, borders and
// all: along an axis on which its input is constant, few outputs differ (`repeated_windows.cpp`).
void propose_repeated_windows(const Site& site, const ConstantAxes& constants, Proposals& out);

}  // namespace isomer
