// Measures how far apart two tensors are, for any type of elements.
#pragma once

#include <cstdint>
#include <string>

#include "model/expr/tensor.h"

namespace isomer {

struct TensorDifference {
  std::string misfit = {};              // types or shapes differ: nothing else is known; or ""
  std::uint64_t differing = 0, of = 0;  // elements that are not the same number; NaN is NaN
  double largest_absolute = 0;          // |a - b|; infinite where only one is finite
  double largest_relative = 0;          // |a - b| / max(|a|, |b|) of one element
  double of_scale = 0;   // largest |a - b| / largest |a|: 0 where all of a is zero or not finite
  Extents first, worst;  // positions: of the first that differs, of the largest difference
  double first_a = 0, first_b = 0, worst_a = 0, worst_b = 0;
  bool is_equal() const { return misfit.empty() && differing == 0; }
};

TensorDifference difference(const Tensor& a, const Tensor& b);

// The rounding error of two equal computations in this floating-point type, relative to the largest value: a
// larger difference is suspicious. 0 for integers, booleans and strings.
double usual_tolerance(ElementType type);

}  // namespace isomer
