// A pattern of two parts that are alike, as one of any number of them.
//
//   Concat(MatMul(x, a), MatMul(x, b)) = MatMul(x, Concat(a, b))
// says what becomes of two products of x, and three are Concat(a, b, c). The parts must be one term but for
// variables, and what is made of these must join them by an operator that takes any number.
#pragma once

#include <memory>

#include "rules/text/pattern.h"

namespace isomer::rules {

// nullptr: it is not of this kind.
std::shared_ptr<const Pattern> widened(const Pattern& pattern, std::size_t parts);

}  // namespace isomer::rules
