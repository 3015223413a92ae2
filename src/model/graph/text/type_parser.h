// Types and tensors in ONNX's text syntax: float[N, 3], seq(float[N]), float[2] {1, 2}.
#pragma once

#include "base/result.h"
#include "model/graph/graph.h"
#include "model/graph/text/scanner.h"

namespace isomer {

Result<DeclaredType> parse_type(Scanner& scanner);
// The elements of a tensor of a type that was read before; the type must give every extent.
Result<Tensor> parse_tensor(Scanner& scanner, const DeclaredType& type);

}  // namespace isomer
