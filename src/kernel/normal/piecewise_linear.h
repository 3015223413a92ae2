// A continuous piecewise linear function of one real number: start + slope·y + Σ bend · relu(y - knot). This
// form is unique, so that whatever relu, max and min with numbers make of one number is compared by it: a
// clip, a leaky relu, a hard sigmoid, however they are spelled.
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
