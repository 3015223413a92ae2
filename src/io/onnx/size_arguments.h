// Sizes of a model's inputs as a user writes them: "x=1x3x224x224" (an input; "x=" makes it a scalar) or
// "batch=8" (a dimension that inputs name).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/graph/infer.h"

namespace isomer {

// Error: a text that is none of these, a name that the model has not, or twice; a shape that contradicts what
// the model declares or can't be run at.
Result<InferOptions> parse_sizes(const std::vector<std::string>& arguments, const Graph& graph);

// For several models at once: each argument must be about one of them at least. One for each model.
Result<std::vector<InferOptions>> parse_sizes(const std::vector<std::string>& arguments,
                                              const std::vector<const Graph*>& graphs);

}  // namespace isomer
