// Elements of a tensor in ONNX's text syntax: {1, 2.5, -3}. 16-bit and smaller floats are written as their
// bits, complex numbers as two numbers each.
#pragma once

#include <cstdint>
#include <string>

#include "model/expr/tensor.h"
#include "model/graph/text/scanner.h"

namespace isomer {

// With more elements than `most`: {...}, which can't be read back.
std::string elements_text(const Tensor& tensor, std::int64_t most);

// Reads {...} as the elements of a tensor.
Result<Tensor> parse_elements(Scanner& scanner, ElementType type, const Extents& extents);

std::string float_text(float value);  // with a point, an exponent, inf or nan: never mistaken for an integer

}  // namespace isomer
