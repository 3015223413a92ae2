#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "cli/wording.h"
#include "runtime/runtime.h"

namespace isomer::cli {
namespace {

constexpr std::int64_t kPauseNs = 100'000'000;  // ten times a second is all that eyes follow
constexpr std::size_t kWidest = 78;

}  // namespace

ProgressLine::ProgressLine() : is_terminal_(::isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  if (is_shown_) fmt::print(stderr, "\r\x1b[K"), (void)std::fflush(stderr);
}

void ProgressLine::show(std::string_view text) {
  const std::int64_t now = now_ns();
  if (!is_terminal_ || (is_shown_ && now - last_ns_ < kPauseNs)) return;
  last_ns_ = now;
  is_shown_ = true;
  fmt::print(stderr, "\r{}\x1b[K", shortened(printable(text), kWidest));
  (void)std::fflush(stderr);
}

}  // namespace isomer::cli
