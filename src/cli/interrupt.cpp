#include "cli/interrupt.h"

namespace isomer::cli {
namespace {

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
}

Interrupt::~Interrupt() {
  std::signal(SIGINT, old_int_);
  std::signal(SIGTERM, old_term_);
}

const std::atomic<bool>* Interrupt::flag() const { return &interrupted; }

}  // namespace isomer::cli
