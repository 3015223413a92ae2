#include "base/check.h"

#include <fmt/format.h>

#include <string_view>

namespace isomer {

void fail_check(const char* condition, const char* file, int line, const std::string& why) {
  std::string_view name = file;
  if (const auto slash = name.find_last_of('/'); slash != std::string_view::npos)
    name.remove_prefix(slash + 1);
  throw InternalError(
      fmt::format("internal error at {}:{}: {}{}{}", name, line, condition, why.empty() ? "" : ": ", why));
}

}  // namespace isomer
