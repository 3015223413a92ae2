// Functions of a model's own: what nodes of a domain that no runtime knows compute, written out in nodes that
// all runtimes know. A runtime with a kernel of such a name takes the kernel; any other one the function.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/onnx/model.h"
#include "model/graph/graph.h"

namespace isomer {

struct LocalFunction {
  std::string domain, name;
  std::vector<std::string> attributes = {};  // that its nodes may have; none is read
  Graph body;                                // constants are a part of it
};

// Adds functions to a model file; what they call must be in its operator sets. The file also gets what
// `original` says of itself: producer, documentation, metadata, and what it declares of the inputs and
// outputs that the two share. Error: the file would be larger than protobuf allows.
Status add_functions(const std::filesystem::path& file, const std::vector<LocalFunction>& functions,
                     const Model& original);

}  // namespace isomer
