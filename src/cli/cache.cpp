// isomer cache: where measurements and kernels are kept, how many, and how to be rid of them.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "cli/cache_option.h"
#include "cli/command.h"
#include "cli/table.h"
#include "cli/wording.h"
#include "isomer/isomer.h"

namespace isomer::cli {
namespace {

struct CacheCommand {
  CacheRequest cache;
  bool clear = false;
};

Result<Reply> show(const CacheCommand& request) {
  const std::filesystem::path place = cache_place(request.cache);
  if (place.empty())
    return Reply{.exit = Exit::Done,
                 .text = "there is no cache\n",
                 .json = {{"place", Json()}, {"entries", 0}, {"bytes", 0}, {"kernel_bytes", 0}}};
  if (request.clear) api::clear_cache(place);
  const api::CacheState state = api::cache_state(place);
  Table table = Table::without_head(2);
  table.add({"place", printable(place.string())});
  table.add({"comparisons", grouped(state.entries)});
  table.add(
      {"size", fmt::format("{} of at most {:g} MiB", bytes_text(state.bytes), request.cache.mebibytes)});
  table.add({"kernels", bytes_text(state.kernel_bytes)});
  return Reply{.exit = Exit::Done,
               .text = table.text(),
               .json = {{"place", place.string()},
                        {"entries", state.entries},
                        {"bytes", state.bytes},
                        {"kernel_bytes", state.kernel_bytes}}};
}

}  // namespace

void add_cache_options(CLI::App& command, CacheRequest& request) {
  command
      .add_option("--cache", request.place,
                  "The cache of comparisons that choose between changes, and of outcomes of proofs (every "
                  "proof is repeated): a file, or none (default: $ISOMER_CACHE, else isomer/timings.sqlite "
                  "in the user's cache folder)")
      ->type_name("FILE");
  command.add_option("--cache-size", request.mebibytes, "Limit of that file's size, in MiB")
      ->check(CLI::PositiveNumber)
      ->type_name("MIB")
      ->capture_default_str();
}

std::filesystem::path cache_place(const CacheRequest& request) {
  if (request.place == "none") return "";
  return request.place.empty() ? api::default_cache() : std::filesystem::path(request.place);
}

void add_cache(CLI::App& app, Chosen& chosen) {
  auto request = std::make_shared<CacheCommand>();
  CLI::App* command = app.add_subcommand("cache", "Show what optimize keeps of earlier runs, and where");
  add_cache_options(*command, request->cache);
  command->add_flag("--clear", request->clear, "Remove all of it");
  command->add_flag("--json", chosen.json, "Answer in JSON");
  command->callback([&chosen, request] { chosen.run = [request] { return show(*request); }; });
}

}  // namespace isomer::cli
