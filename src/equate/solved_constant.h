// Constants that somebody folded, solved for. Where one program is affine in its activation and the other is
// one convolution, matrix product, scale or shift with constants of its own, those constants are what the
// first program does to impulses and to zero. Proposed as programs over the first one's constants; that they
// are right is for others to prove.
#pragma once

#include <vector>

#include "model/graph/graph.h"

namespace isomer {

struct SolvedConstant {
  Tensor stored;  // the constant of the second program
  Graph program;  // without inputs
};

// What is added at the end of the second program, all else being known: the difference of both at zero.
// `unknown` are constants of the second program.
std::vector<SolvedConstant> solved_shift(const Graph& a, const Graph& b, const std::vector<Tensor>& unknown);

std::vector<SolvedConstant> solved_constants(const Graph& a, const Graph& b);

}  // namespace isomer
