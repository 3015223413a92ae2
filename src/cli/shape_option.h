// The option --shape NAME=SHAPE of several commands: concrete extents for an input, or a value for a symbolic
// dimension.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "graph/infer.h"

namespace CLI {
class App;
}

namespace isomer::cli {

void add_shape_option(CLI::App& command, std::vector<std::string>& shapes);

// Each argument is "x=1x3x224x224" (an input; "x=" makes it a scalar) or "batch=8" (a dimension that inputs
// name).
Result<InferOptions> parse_shapes(const std::vector<std::string>& arguments, const Graph& graph);

}  // namespace isomer::cli
