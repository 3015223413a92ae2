// Order: how an operator's output follows one of its inputs, element by element: it never falls (a relu, a
// sigmoid, a sum with any value), never rises, or is unknown. Also the operators that depend only on the
// order of an input's elements. Derived from the formulas. Untrusted: it only supports proposals.
#pragma once

#include <optional>
#include <vector>

#include "model/expr/formula.h"
#include "optimizer/facts/ranges.h"

namespace isomer {

enum class Direction : std::uint8_t { Fixed, Up, Down, Unknown };
struct Following {
  Direction direction = Direction::Unknown;
  bool keeps_apart = false;  // different elements stay different, as floats too
};

// How the output at p follows input[p], where only the coordinates of p along these axes change: what is the
// same for all of them (a scale per channel, a softmax's own sum) is a number. `inputs`: what they lie in.
Following following_along(const Formula& formula, int input, const std::vector<int>& axes,
                          const std::vector<ValueRange>& inputs);

// The input of which every element of the output is an element, found by its place alone: a Transpose.
std::optional<int> view_of(const Formula& formula);

// The output is a sum, difference, product or quotient of elements.
bool is_arithmetic(const Formula& formula);

// The output is the largest, or smallest, element of input 0 among some.
std::optional<Reduction> extremum_of(const Formula& formula);

// Elements of the input are compared with each other and used for nothing else: ArgMax.
bool reads_order_only(const Formula& formula, int input);

}  // namespace isomer
