#include "base/cache_place.h"

#include <cstdlib>
#include <string>

namespace isomer {
namespace {

std::filesystem::path variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

std::filesystem::path cache_place() {
  const auto named = variable("ISOMER_CACHE"), caches = variable("XDG_CACHE_HOME"), home = variable("HOME");
  if (named == "none") return "";
  if (!named.empty()) return named;
  if (!caches.empty()) return caches / "isomer/timings.sqlite";
  return home.empty() ? home : home / ".cache/isomer/timings.sqlite";
}

std::filesystem::path kernels_beside(const std::filesystem::path& cache) {
  return cache.string() + ".kernels";
}

std::filesystem::path prepared_beside(const std::filesystem::path& cache) {
  return cache.string() + ".prepared";
}

std::filesystem::path optimized_beside(const std::filesystem::path& cache) {
  return cache.string() + ".optimized";
}

}  // namespace isomer
