// A model for one size: the dimensions that a file leaves open, made numbers. It is then another model, equal
// to the file's at that size.
#pragma once

#include <map>
#include <string>

#include "model/graph/infer.h"
#include "onnx/onnx-ml.pb.h"

namespace isomer::wire {

// Inputs get these shapes, and wherever the main graph says a dimension by its name, the number that it has
// there stands. Error: a shape that contradicts what is declared.
Status fix_sizes(onnx::GraphProto& graph, const InferOptions& sizes);

// Inputs of these names become constants of the graph (io/onnx/fixed_values.h), after their sizes were fixed.
Status fix_values(onnx::GraphProto& graph, const std::map<std::string, double, std::less<>>& values);

}  // namespace isomer::wire
