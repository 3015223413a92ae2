// A fact that a claim may use about a constant besides its name: a program over constants computes it. This
// is a fold read backwards: `Pad(Slice(w))` means that w is zero elsewhere, `Expand(Slice(w))` that its rows
// are equal, `u * v` that it is a product.
//
// Checked on the bytes. Such a program moves elements, and multiplies two of them at most once, so that
// float64 keeps all digits; a sum could lose digits.
#pragma once

#include <string>

#include "base/result.h"
#include "model/graph/graph.h"

namespace isomer {

struct ConstantFact {
  std::string constant;  // of the model
  Graph program;         // one output; its inputs are constants of the model, by name
};

// Whether a program without inputs computes these very numbers (-0 is 0). An error says why not.
Status states(const Graph& program, const Tensor& constant);

}  // namespace isomer
