// isomer cache: where measurements are kept, how many, and how to be rid of them.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "cli/cache_option.h"
#include "cli/command.h"
#include "cli/table.h"
#include "cli/wording.h"

namespace isomer::cli {
namespace {

namespace fs = std::filesystem;

struct CacheCommand {
  CacheRequest cache;
  bool clear = false;
};

Result<Reply> show(const CacheCommand& request) {
  const std::string place = cache_place(request.cache);
  if (place.empty())
    return Reply{.exit = Exit::Done,
                 .text = "there is no cache\n",
                 .json = {{"place", Json()}, {"entries", 0}, {"bytes", 0}}};
  std::error_code failure;
  if (request.clear)
    for (const char* ending : {"", "-wal", "-shm", ".lock"}) fs::remove(place + ending, failure);
  std::size_t entries = 0;
  std::uint64_t bytes = 0;
  if (fs::exists(place, failure)) {
    const auto cache = TimingCache::open(place);
    entries = cache->size();
    bytes = cache->bytes();
  }
  Table table = Table::without_head(2);
  table.add({"place", printable(place)});
  table.add({"comparisons", grouped(entries)});
  table.add({"size", fmt::format("{} of at most {:g} MiB", bytes_text(bytes), request.cache.mebibytes)});
  return Reply{.exit = Exit::Done,
               .text = table.text(),
               .json = {{"place", place}, {"entries", entries}, {"bytes", bytes}}};
}

}  // namespace

void add_cache_options(CLI::App& command, CacheRequest& request) {
  command
      .add_option(
          "--cache", request.place,
          "Where comparisons are remembered that only choose between changes, and how proofs went (what "
          "is taken is proved again): a file, or none (default: $ISOMER_CACHE, else isomer/timings.sqlite in "
          "the user's "
          "cache folder)")
      ->type_name("FILE");
  command.add_option("--cache-size", request.mebibytes, "Of that file, in MiB, at most")
      ->check(CLI::PositiveNumber)
      ->type_name("MIB")
      ->capture_default_str();
}

std::string cache_place(const CacheRequest& request) {
  std::string place = request.place;
  if (const char* named = std::getenv("ISOMER_CACHE"); place.empty() && named) place = named;
  if (place == "none") return "";
  return place.empty() ? TimingCache::default_path() : place;
}

std::shared_ptr<TimingCache> open_cache(const CacheRequest& request) {
  const std::string place = cache_place(request);
  if (place.empty()) return nullptr;
  std::shared_ptr<TimingCache> cache = TimingCache::open(place);
  cache->shrink_to(static_cast<std::uint64_t>(request.mebibytes * 0x1p20));
  return cache;
}

void add_cache(CLI::App& app, Chosen& chosen) {
  auto request = std::make_shared<CacheCommand>();
  CLI::App* command = app.add_subcommand("cache", "What optimize remembers of earlier runs, and where");
  add_cache_options(*command, request->cache);
  command->add_flag("--clear", request->clear, "Forget all of it");
  command->add_flag("--json", chosen.json, "Answer in JSON");
  command->callback([&chosen, request] { chosen.run = [request] { return show(*request); }; });
}

}  // namespace isomer::cli
