// The laws of scalar functions that the prover may use, each with its condition. The prover knows nothing
// else about functions: a function without a law is a name.
#pragma once

#include <optional>
#include <vector>

#include "model/expr/expr.h"
#include "model/expr/rational.h"

namespace isomer {

// Known facts about a scalar for all inputs.
struct Sign {
  bool nonnegative = false, nonzero = false;
  bool positive() const { return nonnegative && nonzero; }
};

// f(0) = 0.
bool vanishes_at_zero(Fn fn);
// Undefined or infinite at some finite arguments.
bool is_partial(Fn fn);
// f(a, b) = f(b, a).
bool is_commutative(Fn fn);
// f(k·x) = k·f(x) for k > 0.
bool is_positively_homogeneous(Fn fn);
// a < b implies f(a) <= f(b) (up) or f(a) >= f(b) (down), and strictly so, wherever f is defined. For 1/x
// only with x > 0.
struct Order {
  int direction = 0;  // 1, -1; 0: neither
  bool strict = false;
  // Numbers that lie far apart may become the same float: sigmoid(40) and sigmoid(50), exp(-200) and 0.
  bool saturates = false;
};
Order order_of(Fn fn);
// f of numbers, if that is a rational number (Bool: 0 or 1), for a result of this type. For float types the
// value over the reals. Integers wrap, and a number here has not been wrapped: so only numbers that every
// type holds, and no quotient that truncates.
std::optional<Rational> exact_value(Fn fn, ElementType type, const std::vector<Rational>& args);
// The sign of f, given its arguments'.
Sign sign_of(Fn fn, const std::vector<Sign>& args);

}  // namespace isomer
