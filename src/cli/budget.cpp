#include "cli/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace isomer::cli {
namespace {

constexpr double kLongest = 1e9;  // seconds; 30 years, and no overflow

}  // namespace

Result<double> seconds_of(const std::string& text, const std::string& option) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  const double scale = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (end == text.c_str() || scale == 0 || !std::isfinite(number) || number < 0)
    return Error{fmt::format("{} {}: expected a time such as 30s, 5m or 1h", option, text)};
  return std::min(number * scale, kLongest);
}

}  // namespace isomer::cli
