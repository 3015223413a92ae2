// The option --feeds of several commands: inputs by name, checked against the model that they are for.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pipeline/model_feeds.h"

namespace CLI {
class App;
}

namespace isomer::cli {

void add_feeds_option(CLI::App& command, std::filesystem::path& feeds, const std::string& what,
                      const std::string& otherwise);

// Inputs for models that have the same, by name: those of a file, or made-up ones at the sizes given.
Result<FeedsForModels> feeds_for(const std::vector<const Graph*>& graphs, const std::filesystem::path& file,
                                 const std::vector<std::string>& shapes, std::uint64_t seed);

}  // namespace isomer::cli
