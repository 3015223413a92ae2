// A whole formula as reads of its inputs, through all stages.
#pragma once

#include <set>
#include <vector>

#include "model/expr/formula.h"

namespace isomer {

// A read at indices over one output's axes and reduction axes.
struct InputRead {
  int input;
  std::vector<Index> at;
  std::set<int> reduced;  // ids of axes that run under a reduction
};
std::vector<InputRead> input_reads(const Formula& formula, int output);

}  // namespace isomer
