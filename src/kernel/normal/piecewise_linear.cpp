#include "kernel/normal/piecewise_linear.h"

#include <vector>

namespace isomer {

Rational PiecewiseLinear::at(const Rational& y) const {
  Rational out = start + slope * y;
  for (const auto& [knot, bend] : bends)
    if (y > knot) out += bend * (y - knot);
  return out;
}

void PiecewiseLinear::add_bend(const Rational& knot, const Rational& bend) {
  bends[knot] += bend;
  if (bends[knot] == 0) bends.erase(knot);
}

PiecewiseLinear operator+(const PiecewiseLinear& f, const PiecewiseLinear& g) {
  PiecewiseLinear out{.start = f.start + g.start, .slope = f.slope + g.slope, .bends = f.bends};
  for (const auto& [knot, bend] : g.bends) out.add_bend(knot, bend);
  return out;
}

PiecewiseLinear operator*(const Rational& k, const PiecewiseLinear& f) {
  PiecewiseLinear out{.start = k * f.start, .slope = k * f.slope};
  for (const auto& [knot, bend] : f.bends) out.add_bend(knot, k * bend);
  return out;
}

PiecewiseLinear relu(const PiecewiseLinear& f) {
  // From left to right: the segments of f, each from one knot to the next, without an end at the outer ones.
  struct Segment {
    const Rational *from, *to;  // nullptr: no end
    Rational slope;
  };
  std::vector<Segment> pieces{{nullptr, nullptr, f.slope}};
  for (const auto& [knot, bend] : f.bends) {
    pieces.back().to = &knot;
    pieces.push_back({&knot, nullptr, pieces.back().slope + bend});
  }
  PiecewiseLinear out;
  bool is_first = true;
  Rational slope = 0;  // of the part so far
  const auto go_on = [&](const Rational* from, const Rational& next) {
    if (is_first) out.slope = next;
    else if (next != slope) out.add_bend(*from, next - slope);
    slope = next;
    is_first = false;
  };
  for (const Segment& p : pieces) {
    // Where f is zero, on the line through this piece.
    const Rational* known = p.from != nullptr ? p.from : p.to;
    const Rational somewhere = known != nullptr ? *known : Rational(0);
    if (p.slope == 0) {
      go_on(p.from, 0);
      continue;
    }
    const Rational zero = somewhere - f.at(somewhere) / p.slope;
    const bool before = p.from == nullptr || zero > *p.from, behind = p.to == nullptr || zero < *p.to;
    const Rational left = p.slope < 0 ? p.slope : Rational(0), right = p.slope > 0 ? p.slope : Rational(0);
    if (before) go_on(p.from, left);
    if (before && behind) go_on(&zero, right);
    else if (behind) go_on(p.from, right);
  }
  const Rational anywhere = out.bends.empty() ? Rational(0) : out.bends.begin()->first;
  const Rational value = f.at(anywhere);
  out.start = (value > 0 ? value : Rational(0)) - out.slope * anywhere;
  return out;
}

}  // namespace isomer
