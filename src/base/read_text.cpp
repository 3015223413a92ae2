#include "base/read_text.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

namespace isomer {

Result<std::string> read_text(const std::filesystem::path& file, std::uintmax_t most, std::string_view what) {
  std::error_code failure;
  const std::uintmax_t size = std::filesystem::file_size(file, failure);
  if (failure) return Error{fmt::format("can't read {}: {}", file.string(), failure.message())};
  if (size > most) return Error{fmt::format("{} is too large for {}", file.string(), what)};
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) return Error{fmt::format("can't read {}", file.string())};
  return std::move(text).str();
}

}  // namespace isomer
