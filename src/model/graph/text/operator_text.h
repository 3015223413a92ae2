// Operators as text: shape and formula of a user's own operator.
//
//   operator acme::SoftThreshold(x: T[n, m], t: T[m]; floor: float = 0.0) -> (y: T[n, m]) {
//     norm[i < n] = sum(j < m: abs(x[i, j]))
//     y[i, j] = where(x[i, j] > t[j], x[i, j] - t[j], floor) / norm[i]
//   }
//
// Names in the shapes of inputs are sizes, whatever they are; T is any type of floats, the same everywhere.
// After ; come attributes: a float is a number, an int also an extent. Each line gives one tensor, element by
// element; it may read inputs and what is above it, and what it reads outside of a tensor is zero. Positions
// and extents are sums of sizes and of multiples of axes, with / (rounded down) and % by a size. Elements:
// sums, differences, products and quotients, functions of one or two numbers by their names,
// where(a < b, x, y), sum, product, max and min over axes, T(...) and other types as casts.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/ops/own_operators.h"

namespace isomer {

// Error: where the text is wrong, by line and column.
Result<std::vector<OwnOperator>> parse_operators(std::string_view text);

// Adds those of a text to others; all of them or none.
Status add_operators(std::string_view text, OwnOperators& own);

}  // namespace isomer
