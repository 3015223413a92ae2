// Resampling: what Resize and Upsample share. An output position comes from a coordinate of the input that is
// a fraction,
//   (a · p + b) / c   along each axis,
// and the output is the nearest element there, or lies on the line between the two that surround it, or on
// the cubic spline through four.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "model/ops/shared/define.h"

namespace isomer {

struct ResampledAxis {
  Dim output;                                   // extent
  std::int64_t numerator = 1, denominator = 1;  // the scale, exactly
  float scale = 1;                              // the scale as the runtime has it
  bool is_kept() const { return numerator == denominator; }
};

struct Resampling {
  bool is_linear = false;
  std::optional<double> cubic = {};  // the spline's parameter, often -3/4
  bool inside_only = false;  // of a spline: elements beyond the edge don't count, instead of the edge's
  std::string coordinates;   // coordinate_transformation_mode
  std::string nearest;       // nearest_mode; "" is the rule before opset 11: up when shrinking, else down
  std::vector<ResampledAxis> axes;  // per axis of the input
};

// An axis of a given extent under a scale, or brought to a size; a Definition (opaque or invalid) if it can't
// be had.
std::variant<ResampledAxis, Definition> scaled_axis(const Dim& extent, float scale);
std::variant<ResampledAxis, Definition> sized_axis(const Dim& extent, const Dim& size);

// The definition of resampling input 0.
Definition resample(const Call& call, const Resampling& resampling);

}  // namespace isomer
