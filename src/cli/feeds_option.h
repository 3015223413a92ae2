// The option --feeds of several commands: inputs by name.
#pragma once

#include <filesystem>
#include <string>

namespace CLI {
class App;
}

namespace isomer::cli {

void add_feeds_option(CLI::App& command, std::filesystem::path& feeds, const std::string& what,
                      const std::string& otherwise);

}  // namespace isomer::cli
