// Functions of a model's own: what nodes of a domain that no runtime knows compute, written out in nodes that
// all runtimes know. A runtime with a kernel of such a name takes the kernel; any other one the function.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/graph/graph.h"

namespace isomer {

struct LocalFunction {
  std::string domain, name;
  std::vector<std::string> attributes = {};  // that its nodes may have; none is read
  Graph body;                                // constants are a part of it
};

// Adds them to a model file; what they call must be in its operator sets. Error: it would be larger than
// protobuf allows.
Status add_functions(const std::filesystem::path& model, const std::vector<LocalFunction>& functions);

}  // namespace isomer
