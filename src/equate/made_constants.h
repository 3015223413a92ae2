// Large values that a model computes from constants alone, each as the program that computes it.
//
// Inference knows their numbers, and proofs would treat them as constants of the model: a Concat of two
// biases would be a third constant, equal to no value of the other model.
#pragma once

#include <vector>

#include "model/graph/infer.h"

namespace isomer {

struct MadeConstant {
  Value value;
  Graph program;  // no inputs, one output
};

// Constants that are read by a node with other inputs, or are an output.
std::vector<MadeConstant> made_constants(const Graph& graph, const Inference& info);

}  // namespace isomer
