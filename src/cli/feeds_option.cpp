#include "cli/feeds_option.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

namespace isomer::cli {

void add_feeds_option(CLI::App& command, std::filesystem::path& feeds, const std::string& what,
                      const std::string& otherwise) {
  command
      .add_option("--feeds", feeds,
                  fmt::format("{}, by name, as numpy.savez writes them (default: {})", what, otherwise))
      ->type_name("F.npz");
}

}  // namespace isomer::cli
