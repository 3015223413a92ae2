// A pattern of two similar parts, widened to any number of them.
//
// Concat(MatMul(x, a), MatMul(x, b)) = MatMul(x, Concat(a, b)) is about two products of x; for three it is
// Concat(a, b, c). The parts must be one term except for variables, and the values made of these must be
// joined by an operator with any number of inputs.
#pragma once

#include <memory>

#include "rules/text/pattern.h"

namespace isomer::rules {

// nullptr: it is not of this kind.
std::shared_ptr<const Pattern> widened(const Pattern& pattern, std::size_t parts);

}  // namespace isomer::rules
