// The path of this user's caches, for all of Isomer's programs and libraries.
#pragma once

#include <filesystem>

namespace isomer {

// The file of measurements; other caches are beside it. $ISOMER_CACHE, else below $XDG_CACHE_HOME or
// ~/.cache.
// "": there is none, or $ISOMER_CACHE is "none".
std::filesystem::path cache_place();

// Entries beside such a file: kernels that `optimize --kernels` takes again; what the execution provider
// runs, by what the runtime shows it of a model; and what `optimize --kernels` made, by the digest of the
// model's file, until the provider takes it.
std::filesystem::path kernels_beside(const std::filesystem::path& cache);
std::filesystem::path prepared_beside(const std::filesystem::path& cache);
std::filesystem::path optimized_beside(const std::filesystem::path& cache);

}  // namespace isomer
