// Constants whose slices along an axis are all the same, as an exporter writes an index or a mask that was
// expanded: what reads them does not differ along that axis.
#pragma once

#include <optional>
#include <vector>

#include "model/expr/tensor.h"
#include "model/graph/program_builder.h"

namespace isomer {

// Whether a value is a constant, all of whose elements are this number.
bool is_all(const Graph& graph, Value v, double number);

// The axes of two elements or more along which all slices are the same bytes.
std::vector<bool> repeated_axes(const Tensor& tensor);

// The constant as one slice, expanded; nullopt: no axis is repeated, or all of them are, which needs no
// saying.
std::optional<Value> as_expanded(ProgramBuilder& b, Value constant, const Tensor& tensor);

}  // namespace isomer
