// A number of one model that is a rounded result of numbers of another: 0.9 for 1 - 0.1, 6 for 1 /
// 0.16666667, 1.4142135 for 1 / (√2 / 2), which Gelu's formula has. A guess that must be proved.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/graph/graph.h"

namespace isomer {

// The literals of a program: small constants, and what its formulas compute with, attributes too.
std::set<double> numbers_in(const Graph& program);

// Programs without inputs whose results differ, round to `wanted`, a tensor of one number, and aren't it
// exactly; none if it is one of the numbers.
std::vector<Graph> rounded_number(const Tensor& wanted, const std::set<double>& numbers,
                                  const Opsets& opsets);

}  // namespace isomer
