// Functions that a model defines: names that don't clash, no recursion, and a bound on the size of calls
// written out.
#pragma once

#include <map>

#include "base/result.h"
#include "io/onnx/read_tensor.h"
#include "model/graph/graph.h"
#include "onnx/onnx-ml.pb.h"

namespace isomer::wire {

using Functions = std::map<FunctionName, const onnx::FunctionProto*>;

// Checks every function, bodies included, and how large the main graph would become if all calls were
// inlined.
Result<Functions> read_functions(const onnx::ModelProto& model);

// Digests of the whole content of each, except the places of its tensors' elements.
Result<FunctionDigests> function_digests(const Functions& functions, const TensorSource& source);

}  // namespace isomer::wire
