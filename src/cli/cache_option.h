// The options --cache and --cache-size: where `optimize` remembers what it measured, and what took long and
// could not be proved.
#pragma once

#include <filesystem>
#include <string>

namespace CLI {
class App;
}

namespace isomer::cli {

struct CacheRequest {
  std::string place;  // a file; "none"; "": the default
  double mebibytes = 256;
};
void add_cache_options(CLI::App& command, CacheRequest& request);

// What the place means: that of $ISOMER_CACHE, else of the user's cache folder; "" for none.
std::filesystem::path cache_place(const CacheRequest& request);

}  // namespace isomer::cli
