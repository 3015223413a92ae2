// The text of a file that a user names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace isomer {

// Error: it can't be read, or it has more bytes than any real one; `what` it should be, as in "a file of
// rules".
Result<std::string> read_text(const std::filesystem::path& file, std::uintmax_t most, std::string_view what);

}  // namespace isomer
