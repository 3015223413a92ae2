// Numbers that a model compares an input with: 16000, where it has a branch for each sample rate.
#pragma once

#include <vector>

#include "model/graph/graph.h"

namespace isomer {

// Values of the input that lead to either answer, those that make an equality hold first. Looks into bodies
// of control flow and functions.
std::vector<double> compared_numbers(const Graph& graph, Value input);

}  // namespace isomer
