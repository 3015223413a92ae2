// From TypeProto to DeclaredType: a model's declaration of the type and shape of a value.
#pragma once

#include "base/result.h"
#include "model/graph/graph.h"
#include "onnx/onnx-ml.pb.h"

namespace isomer::wire {

// Nothing is declared where the message has no type or no shape. Dims that are negative or have no name are
// unknown.
Result<DeclaredType> read_type(const onnx::ValueInfoProto& value);

}  // namespace isomer::wire
