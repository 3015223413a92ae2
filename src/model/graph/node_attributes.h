// Attributes of a node, or their defaults in ONNX.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/graph/graph.h"

namespace isomer {

std::int64_t attribute(const Node& node, std::string_view name, std::int64_t otherwise);
std::vector<std::int64_t> attribute(const Node& node, std::string_view name,
                                    const std::vector<std::int64_t>& otherwise);
std::string attribute(const Node& node, std::string_view name, const std::string& otherwise);

// A MatMul, or a Gemm that is x W + c and nothing more, but that W may be transposed.
bool is_plain_product(const Node& node);
bool has_transposed_weights(const Node& product);

}  // namespace isomer
