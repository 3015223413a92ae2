// Shapes of inputs some of whose extents stay open: "x=?x3x48x?".
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/graph/graph.h"

namespace isomer {

bool is_partial_shape(const std::string& argument);

// The graph with the extents that these arguments give written into its inputs. A size that has a name gets
// the number wherever the name stands.
Result<Graph> with_partial_shapes(const Graph& graph, const std::vector<std::string>& arguments);

}  // namespace isomer
