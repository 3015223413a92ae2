// Ctrl-C (and SIGTERM): the first requests the best so far, the second ends the process.
#pragma once

#include <atomic>
#include <csignal>
#include <stop_token>
#include <thread>

namespace isomer::cli {

// While it lives, signals set the flag, and soon after the token.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  const std::atomic<bool>* flag() const;
  std::stop_token token() const { return stop_.get_token(); }

 private:
  void (*old_int_)(int);
  void (*old_term_)(int);
  std::stop_source stop_;
  std::jthread watch_;  // a signal handler may set a flag, but not stop anything
};

}  // namespace isomer::cli
