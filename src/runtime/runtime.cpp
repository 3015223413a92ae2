#include "runtime/runtime.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ctime>

namespace isomer {
namespace {

std::int64_t read_clock(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

std::string RuntimeOptions::text() const {
  std::string text = fmt::format("threads={} level={} disabled=[{}]", threads, static_cast<int>(level),
                                 fmt::join(disabled_optimizers, ";"));
  for (const auto& [key, value] : config) text += fmt::format(" {}={}", key, value);
  for (const std::string& library : custom_op_libraries) text += fmt::format(" custom={}", library);
  return text;
}

std::int64_t now_ns() { return read_clock(CLOCK_MONOTONIC); }
std::int64_t cpu_ns() { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

}  // namespace isomer
