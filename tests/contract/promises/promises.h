// What the analyses of a formula (model/analysis/analysis.h) promise about a call, as laws that can be
// proved: f commutes with data movement along the output axes to which its inputs are parallel; it is linear,
// affine or independent in an input; it keeps zero.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/expr/formula.h"

namespace isomer::laws {

enum class Kind : std::uint8_t {
  Slice,        // f(x)[1:] = f(x[1:])
  Stride,       // f(x)[::2] = f(x[::2])
  Concat,       // f(u ++ v) = f(u) ++ f(v)
  Rotation,     // f(x)[1:] ++ f(x)[:1] = f(x[1:] ++ x[:1])
  Swap,         // the same of the first two positions; with rotation it generates all permutations
  Transpose,    // f(x)^T = f(x^T), of two parallel axes
  Linear,       // a f(x) + b f(y) = f(a x + b y)
  Affine,       // a f(x) + (1 - a) f(y) = f(a x + (1 - a) y)
  Independent,  // f(x) = f(y)
  Zero,         // f(0) = 0
};
constexpr int kKinds = 10;
std::string_view name(Kind kind);

// One axis of one input.
struct Place {
  int input = 0, axis = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

// An output axis and the inputs' axes that run along it.
struct Along {
  int output_axis = 0;
  std::vector<Place> places;
  friend bool operator==(const Along&, const Along&) = default;
};

struct Promise {
  Kind kind = Kind::Zero;
  int output = 0;
  int input = -1;                // Linear, Affine, Independent
  std::vector<Along> axes = {};  // one; two of Transpose
  friend bool operator==(const Promise&, const Promise&) = default;
};

// All of them, for the outputs that exist. Axes known to have fewer than two positions promise nothing.
std::vector<Promise> promises_of(const Formula& formula);

}  // namespace isomer::laws
