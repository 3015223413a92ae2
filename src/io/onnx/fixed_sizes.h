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

}  // namespace isomer::wire
