#include "runtime/engines/runtime.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <ctime>

namespace isomer {
namespace {

std::int64_t to_ns(const timeval& time) { return time.tv_sec * 1'000'000'000 + time.tv_usec * 1'000; }

}  // namespace

std::string RuntimeOptions::text() const {
  std::string text = fmt::format("threads={} level={} disabled=[{}]", threads, static_cast<int>(level),
                                 fmt::join(disabled_optimizers, ";"));
  for (const auto& [key, value] : config) text += fmt::format(" {}={}", key, value);
  for (const std::string& library : custom_op_libraries) text += fmt::format(" custom={}", library);
  return text;
}

Outcome<DumpedFiles> Runtime::dump(const ModelPlace&, const RuntimeOptions&, const std::string&,
                                   const std::string&) {
  return Failure{FailureKind::Refused, fmt::format("{} does not say what it makes of a model", name())};
}

std::int64_t now_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

// Not CLOCK_PROCESS_CPUTIME_ID: while a limit of CPU time is set, Linux answers it from a sum that moves only
// with the scheduler's ticks, 4 ms apart. This one is exact to a microsecond.
std::int64_t cpu_ns() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return to_ns(usage.ru_utime) + to_ns(usage.ru_stime);
}

}  // namespace isomer
