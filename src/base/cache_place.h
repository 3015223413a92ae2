// Where this user's caches are, for all of Isomer's programs and libraries.
#pragma once

#include <filesystem>

namespace isomer {

// The file of measurements; other caches are beside it. $ISOMER_CACHE, else below $XDG_CACHE_HOME or
// ~/.cache.
// "": there is none, or $ISOMER_CACHE is "none".
std::filesystem::path cache_place();

}  // namespace isomer
