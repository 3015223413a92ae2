#include "runtime/worker/time_limit.h"

#include <algorithm>

#include "runtime/engines/runtime.h"

namespace isomer {
namespace {

constexpr double kLongest = 1e9;  // seconds; 30 years, and no overflow

std::int64_t to_ns(double seconds) {
  return static_cast<std::int64_t>(std::clamp(seconds, 0.0, kLongest) * 1e9);
}

}  // namespace

TimeLimit::TimeLimit(double seconds, const std::atomic<bool>* interrupted)
    : interrupted_(interrupted), start_ns_(now_ns()), end_ns_(start_ns_ + to_ns(seconds)) {}

double TimeLimit::spent() const { return static_cast<double>(now_ns() - start_ns_) * 1e-9; }

double TimeLimit::seconds_left() const {
  if (is_interrupted()) return 0;
  return std::max(0.0, static_cast<double>(end_ns_ - now_ns()) * 1e-9);
}

void TimeLimit::end_at(double seconds) {
  end_ns_ = start_ns_ + to_ns(seconds);
  refresh();
}

}  // namespace isomer
