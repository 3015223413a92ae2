#include "cli/interrupt.h"

#include <chrono>

namespace isomer::cli {
namespace {

constexpr std::chrono::milliseconds kGlance{20};  // a wait too short to be noticed

// A signal finds nothing else. It outlives all threads that look at it.
std::atomic<bool> interrupted{false};

void on_signal(int signal) {
  if (!interrupted.exchange(true)) return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

Interrupt::Interrupt() {
  interrupted = false;
  old_int_ = std::signal(SIGINT, on_signal);
  old_term_ = std::signal(SIGTERM, on_signal);
  watch_ = std::jthread([stop = stop_](const std::stop_token& over) mutable {
    while (!over.stop_requested() && !interrupted) std::this_thread::sleep_for(kGlance);
    if (interrupted) stop.request_stop();
  });
}

Interrupt::~Interrupt() {
  std::signal(SIGINT, old_int_);
  std::signal(SIGTERM, old_term_);
}

const std::atomic<bool>* Interrupt::flag() const { return &interrupted; }

}  // namespace isomer::cli
