// The options --cache and --cache-size: the file in which `optimize` keeps measurements, and proofs that were
// slow and failed.
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

// The resolved place: that of $ISOMER_CACHE, else of the user's cache folder; "" for none.
std::filesystem::path cache_place(const CacheRequest& request);

}  // namespace isomer::cli
