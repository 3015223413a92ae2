// The option --feeds of several commands: inputs by name, checked against the model that they are for.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "graph/interpret.h"

namespace CLI {
class App;
}

namespace isomer::cli {

void add_feeds_option(CLI::App& command, std::filesystem::path& feeds, const std::string& what,
                      const std::string& otherwise);

// The arrays of an npz file, if they fit the inputs: every input that has no default, no other name, the
// element type, the rank and the extents that the model declares.
Result<NamedTensors> read_feeds(const std::filesystem::path& path, const Graph& graph);
Status check_feeds(const NamedTensors& feeds, const Graph& graph);

// Inputs for models that have the same, by name: those of a file, or made-up ones at the sizes given.
struct FeedsForModels {
  NamedTensors tensors;
  std::string words;  // "x 1x3x224x224 (batch=1 was assumed; --shape says otherwise)"
};
Result<FeedsForModels> feeds_for(const std::vector<const Graph*>& graphs, const std::filesystem::path& file,
                                 const std::vector<std::string>& shapes, std::uint64_t seed);

}  // namespace isomer::cli
