// The options --cache and --cache-size: where `optimize` remembers what it measured, and what took long and
// could not be proved.
#pragma once

#include <memory>
#include <string>

#include "runtime/timing_cache.h"

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
std::string cache_place(const CacheRequest& request);
// Opened, and no larger than asked; null: none is wanted.
std::shared_ptr<TimingCache> open_cache(const CacheRequest& request);

}  // namespace isomer::cli
