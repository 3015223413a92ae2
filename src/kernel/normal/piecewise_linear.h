// A continuous piecewise linear function of one real number: start + slope·y + Σ change · relu(y - knot).
// This form is unique, so it compares everything that relu, max and min with numbers make of one number: a
// clip, a leaky relu, a hard sigmoid, in any spelling.
#pragma once

#include <map>

#include "kernel/normal/term.h"

namespace isomer {

struct PiecewiseLinear {
  Rational start = 0, slope = 0;
  std::map<Rational, Rational> bends = {};  // by knot; none is zero

  Rational at(const Rational& y) const;
  void add_bend(const Rational& knot, const Rational& bend);

  friend PiecewiseLinear operator+(const PiecewiseLinear& f, const PiecewiseLinear& g);
  friend PiecewiseLinear operator*(const Rational& k, const PiecewiseLinear& f);
  friend bool operator==(const PiecewiseLinear&, const PiecewiseLinear&) = default;
};

// y ↦ max(f(y), 0).
PiecewiseLinear relu(const PiecewiseLinear& f);

}  // namespace isomer
