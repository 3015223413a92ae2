// Ctrl-C (and SIGTERM) as a flag: the first asks for the best so far, the second ends it all.
#pragma once

#include <atomic>
#include <csignal>

namespace isomer::cli {

// While it lives, signals set the flag.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  const std::atomic<bool>* flag() const;

 private:
  void (*old_int_)(int);
  void (*old_term_)(int);
};

}  // namespace isomer::cli
