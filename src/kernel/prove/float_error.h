// The error of an evaluation in float64: beside each number its *error*, in units of half the last place of 1
// (2^-53), to the first order and never too small. A running error: the rounding of an operation is measured
// by its result, so that (0 + b) - b is exact, and the error of (w + b) - b is the part of w that b absorbed.
#pragma once

#include <optional>
#include <vector>

#include "model/expr/formula.h"
#include "model/expr/tensor.h"

namespace isomer {

// A formula of doubles whose outputs are the errors of this one's. Its inputs are this one's, then their
// errors, then their sizes: |number| + error. nullopt: it has a function through which errors are not
// followed.
std::optional<Formula> error_of(const Formula& formula);

// Whether float64 rounds nothing: sums and products of numbers that are short enough.
bool is_computed_exactly(const Formula& formula, const std::vector<std::optional<Tensor>>& inputs);

bool reads_floats(const ExprNode& expr);

constexpr double kDoubleUnit = 0x1p-53;  // of errors
// However many operations there are: products with ones and zeros count and round nothing, and of n
// roundings that are not all of one sign √n remain.
constexpr double kMostRoundings = 64;

std::optional<double> unit_roundoff(ElementType type);  // half of the distance from 1 to the next number
double smallest_normal(ElementType type);

}  // namespace isomer
