// Large values that a model computes from constants alone, each as the program that computes it.
//
// Inference knows their numbers, and proofs would take these for constants of the model's own: a Concat of
// two biases would be a third one, and nothing of the other model be equal to it.
#pragma once

#include <vector>

#include "model/graph/infer.h"

namespace isomer {

struct MadeConstant {
  Value value;
  Graph program;  // no inputs, one output
};

// Those that are read by a node that also reads something else, or are an output.
std::vector<MadeConstant> made_constants(const Graph& graph, const Inference& info);

}  // namespace isomer
