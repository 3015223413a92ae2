#include "app/optimize/read_prior.h"

#include <fmt/format.h>

#include "base/read_text.h"

namespace isomer {
namespace {

constexpr std::uintmax_t kMostBytes = std::uintmax_t{16} << 20U;  // some thousand models

}  // namespace

Result<std::shared_ptr<const Prior>> read_prior(const std::filesystem::path& file) {
  if (file.empty()) return Prior::shipped();
  ISOMER_TRY(const std::string text, read_text(file, kMostBytes, "a prior"));
  auto parsed = Prior::parse(text);
  if (!parsed.ok()) return Error{fmt::format("{}: {}", file.string(), parsed.error().message)};
  return std::make_shared<const Prior>(std::move(*parsed));
}

}  // namespace isomer
