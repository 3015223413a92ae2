#include <system_error>

#include "app/api/errors.h"
#include "base/cache_place.h"
#include "base/entry_cache.h"
#include "runtime/judge/timing_cache.h"

namespace isomer::api {

namespace fs = std::filesystem;

fs::path default_cache() {
  return guarded([] { return cache_place(); });
}

fs::path default_tuning() {
  const fs::path cache = default_cache();
  return cache.empty() ? cache : cache.parent_path() / "tuning";
}

fs::path default_objects() {
  const fs::path cache = default_cache();
  return cache.empty() ? cache : cache.parent_path() / "objects";
}

CacheState cache_state(const fs::path& cache) {
  return guarded([&] {
    std::error_code failure;
    CacheState out;
    if (!cache.empty()) out.kernel_bytes = bytes_in(kernels_beside(cache));
    if (cache.empty() || !fs::exists(cache, failure)) return out;
    const auto opened = TimingCache::open(cache.string());
    out.entries = opened->size();
    out.bytes = opened->bytes();
    return out;
  });
}

void clear_cache(const fs::path& cache) {
  guarded([&] {
    std::error_code failure;
    if (cache.empty()) return;
    for (const char* ending : {"", "-wal", "-shm", ".lock"}) fs::remove(cache.string() + ending, failure);
    for (const fs::path& folder : {kernels_beside(cache), optimized_beside(cache), prepared_beside(cache)})
      fs::remove_all(folder, failure);
  });
}

}  // namespace isomer::api
