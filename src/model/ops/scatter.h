// Scatters: data in which updates overwrite, or are combined with, the elements that indices name. What
// ScatterElements, Scatter and ScatterND share.
//
// At a position, some updates hit. Without a reduction ONNX leaves open which one counts if they are several;
// here it is the last, as in ONNX's own evaluator. add, mul, max and min combine all of them with the data.
#pragma once

#include <string>

#include "model/ops/shared/look_up.h"

namespace isomer {

struct Scattering {
  std::vector<Axis> updates;                             // the axes along which updates are tried
  std::function<Expr(const std::vector<Index>&)> hits;   // whether the update there hits the position
  std::function<Expr(const std::vector<Index>&)> value;  // the update there
  Expr data;                                             // the element that is there before
};

// The attribute, as the opset means it. Throws IllegalCall.
std::string read_scatter_reduction(const Call& call);
// An element of the result.
Expr scattered(FormulaBuilder& f, const Scattering& s, const std::string& reduction);

}  // namespace isomer
