// A number of one model that is a rounded result of numbers of another: 0.9 for 1 - 0.1, 6 for 1 /
// 0.16666667. A guess, for whoever proves it.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "graph/graph.h"

namespace isomer {

// The float literals of a program: small constants, and what its formulas compute with, attributes too.
std::set<float> numbers_in(const Graph& program);

// A program without inputs whose result rounds to `wanted`, a tensor of one number, and isn't it exactly.
std::optional<Graph> rounded_number(const Tensor& wanted, const std::set<float>& numbers,
                                    const std::map<std::string, int, std::less<>>& opsets);

}  // namespace isomer
