#include "cli/deadline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace isomer::cli {
namespace {

constexpr double kLongest = 1e9;  // seconds; 30 years, and no overflow

}  // namespace

Result<double> seconds_of(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  const double scale = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (end == text.c_str() || scale == 0 || !std::isfinite(number) || number < 0)
    return Error{fmt::format("--budget {}: expected a time such as 30s, 5m or 1h", text)};
  return std::min(number * scale, kLongest);
}

Deadline::Deadline(double seconds)
    : end_(std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                  std::chrono::duration<double>(seconds))),
      watch_([this] {
        std::unique_lock lock(mutex_);
        const bool ended = ended_.wait_until(lock, end_, [this] { return is_done_; });
        if (!ended) is_over_ = true;
      }) {}

Deadline::~Deadline() {
  {
    const std::lock_guard lock(mutex_);
    is_done_ = true;
  }
  ended_.notify_all();
  watch_.join();
}

}  // namespace isomer::cli
