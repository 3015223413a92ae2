// Folded constants, solved for. If one program is affine in its activation and the other is one convolution,
// matrix product, scale or shift with its own constants, those constants are the response of the first
// program to impulses and to zero. They are proposed as programs over the first program's constants; the
// proof is elsewhere.
#pragma once

#include <vector>

#include "model/graph/graph.h"

namespace isomer {

struct SolvedConstant {
  Tensor stored;  // the constant of the second program
  Graph program;  // without inputs
};

// The value added at the end of the second program, if all others are known: the difference of both at zero.
// `unknown` are constants of the second program.
std::vector<SolvedConstant> solved_shift(const Graph& a, const Graph& b, const std::vector<Tensor>& unknown);

std::vector<SolvedConstant> solved_constants(const Graph& a, const Graph& b);

}  // namespace isomer
