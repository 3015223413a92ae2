#include "cli/feeds_option.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "npz/npz.h"

namespace isomer::cli {

void add_feeds_option(CLI::App& command, std::filesystem::path& feeds, const std::string& what,
                      const std::string& otherwise) {
  command
      .add_option("--feeds", feeds,
                  fmt::format("{}, by name, as numpy.savez writes them (default: {})", what, otherwise))
      ->type_name("F.npz");
}

Result<FeedsForModels> feeds_for(const std::vector<const Graph*>& graphs, const std::filesystem::path& file,
                                 const std::vector<std::string>& shapes, std::uint64_t seed) {
  if (file.empty()) return isomer::feeds_for(graphs, std::nullopt, shapes, seed);
  ISOMER_TRY(NamedTensors given, read_npz(file));
  if (const Status fits = check_feeds(given, *graphs.front()); !fits.ok())
    return Error{fmt::format("--feeds {}: {}", file.string(), fits.error().message)};
  ISOMER_TRY(FeedsForModels out, isomer::feeds_for(graphs, given, shapes, seed));
  out.words += fmt::format(" of {}", file.string());
  return out;
}

}  // namespace isomer::cli
