// From the main GraphProto to a Graph, with a note of which message each node came from.
#pragma once

#include "base/result.h"
#include "io/onnx/read_functions.h"
#include "io/onnx/read_scope.h"
#include "io/onnx/read_tensor.h"
#include "io/onnx/shell.h"

namespace isomer::wire {

// The graph has passed check_graph_names; its inputs, values and initializers are checked here.
Result<Graph> build_graph(const onnx::ModelProto& model, const Opsets& opsets, const Functions& functions,
                          const Captures& captures, const TensorSource& source, ModelShell& shell);

}  // namespace isomer::wire
