#include "cli/live.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>

#include "cli/terminal.h"
#include "cli/wording.h"

namespace isomer::cli {
namespace {

constexpr std::chrono::milliseconds kPause{100};  // ten times a second is all that eyes follow
// Plain lines, in seconds: none before the first; then one per interval if something changed, and one per
// longer interval otherwise.
constexpr double kFirstLine = 3, kBetweenLines = 5, kBetweenEqualLines = 60;

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// "measuring" of "measuring the result, 40 %"
std::string_view phase_of(std::string_view text) {
  return text.substr(0, text.find_first_of(":,0123456789"));
}

}  // namespace

void add_live_options(CLI::App& command, LiveRequest& request) {
  command.add_flag("--quiet", request.quiet, "Say nothing but the result");
  command
      .add_option("--log", request.log, "Write all that is done, with the time, to a file (default: to none)")
      ->type_name("FILE");
}

Result<std::unique_ptr<Live>> Live::start(const LiveRequest& request, std::optional<double> seconds,
                                          const std::atomic<bool>* interrupted) {
  std::unique_ptr<Live> live(new Live);
  live->is_quiet_ = request.quiet;
  live->is_terminal_ = is_terminal(STDERR_FILENO);
  live->seconds_ = seconds;
  live->interrupted_ = interrupted;
  live->start_ = now_seconds();
  if (!request.log.empty()) {
    live->log_ = std::fopen(request.log.c_str(), "we");
    if (!live->log_) return Error{fmt::format("--log {}: can't be written", request.log)};
  }
  if (!live->is_quiet_) live->thread_ = std::thread([at = live.get()] { at->run(); });
  return live;
}

Live::~Live() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (is_drawn_) fmt::print(stderr, "\r\x1b[K"), (void)std::fflush(stderr);
  if (log_) (void)std::fclose(log_);
}

void Live::show(std::string_view now) {
  log(now);
  const std::lock_guard lock(mutex_);
  now_ = printable(now);
}

bool Live::say(std::string_view line) {
  log(line);
  if (is_quiet_) return false;
  const std::lock_guard lock(mutex_);
  fmt::print(stderr, "{}isomer: {}\n", is_drawn_ ? "\r\x1b[K" : "", printable(line));
  (void)std::fflush(stderr);
  is_drawn_ = false;
  return true;
}

void Live::show_best(double ratio) {
  log(fmt::format("the best so far: {:.3f}× faster", ratio));
  const std::lock_guard lock(mutex_);
  best_ = ratio;
}

void Live::set_kept(std::string what) {
  const std::lock_guard lock(mutex_);
  kept_ = std::move(what);
}

void Live::log(std::string_view text) {
  if (!log_) return;
  const std::lock_guard lock(mutex_);
  fmt::print(log_, "{:9.3f}  {}\n", now_seconds() - start_, printable(text));
  (void)std::fflush(log_);
}

void Live::run() {
  std::unique_lock lock(mutex_);
  while (!is_over_) {
    if (interrupted_ && *interrupted_ && !was_interrupted_) answer_interrupt();
    else if (is_terminal_) draw_line();
    else write_line();
    changed_.wait_for(lock, kPause, [this] { return is_over_; });
  }
}

void Live::answer_interrupt() {
  was_interrupted_ = true;
  const std::string best = best_ > 0 ? fmt::format("the best so far is {:.2f}× faster", best_) : kept_;
  fmt::print(stderr, "{}isomer: finishing: {}; Ctrl-C again to quit\n", is_drawn_ ? "\r\x1b[K" : "", best);
  (void)std::fflush(stderr);
  is_drawn_ = false;
}

void Live::draw_line() {
  if (now_.empty() || was_interrupted_) return;
  const double spent = now_seconds() - start_;
  std::string line = duration_text(spent);
  if (seconds_) line += fmt::format(", {} left", duration_text(std::max(0.0, *seconds_ - spent)));
  if (best_ > 0) line += fmt::format(", best {:.2f}x", best_);
  line += "  " + now_;
  fmt::print(stderr, "\r{}\x1b[K", shortened(line, columns_of(STDERR_FILENO) - 1));
  (void)std::fflush(stderr);
  is_drawn_ = true;
}

void Live::write_line() {
  const double spent = now_seconds() - start_;
  if (now_.empty() || spent < kFirstLine || was_interrupted_) return;
  const std::string phase(phase_of(now_));
  const bool is_new = phase != last_phase_ || best_ != told_best_;
  if (spent - last_line_ < (is_new ? kBetweenLines : kBetweenEqualLines) && last_line_ > 0) return;
  last_line_ = spent;
  last_phase_ = phase;
  told_best_ = best_;
  fmt::print(stderr, "isomer: {}{}: {}\n", duration_text(spent),
             best_ > 0 ? fmt::format(", best so far {:.2f}× faster", best_) : "", now_);
  (void)std::fflush(stderr);
}

}  // namespace isomer::cli
