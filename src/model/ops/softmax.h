// Shared by Softmax, LogSoftmax and Hardmax: their axes. Before opset 13 the input is first flattened to two
// dimensions at the axis (default 1), so that these are all axes from it on; since 13 it is that axis alone
// (default -1).
#pragma once

#include "model/ops/shared/reduced_axes.h"

namespace isomer {

ReducedAxes read_softmax_axes(const Call& call);

}  // namespace isomer
