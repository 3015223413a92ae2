#include "pipeline/read_prior.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

namespace isomer {
namespace {

constexpr std::uintmax_t kMostBytes = std::uintmax_t{16} << 20U;  // some thousand models

}  // namespace

Result<std::shared_ptr<const Prior>> read_prior(const std::filesystem::path& file) {
  if (file.empty()) return Prior::shipped();
  std::error_code failure;
  const std::uintmax_t size = std::filesystem::file_size(file, failure);
  if (failure) return Error{fmt::format("can't read {}: {}", file.string(), failure.message())};
  if (size > kMostBytes) return Error{fmt::format("{} is too large for a prior", file.string())};
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) return Error{fmt::format("can't read {}", file.string())};
  auto parsed = Prior::parse(text.str());
  if (!parsed.ok()) return Error{fmt::format("{}: {}", file.string(), parsed.error().message)};
  return std::make_shared<const Prior>(std::move(*parsed));
}

}  // namespace isomer
