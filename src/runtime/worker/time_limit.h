// TimeLimit: the time at which work must end. Work checks it between two steps; code that waits for a runtime
// gives up when it is over. Ctrl-C ends it at once.
//
// One limit serves a whole run: its end is moved when a phase (searching, then checking the result) begins.
#pragma once

#include <atomic>
#include <cstdint>

namespace isomer {

class TimeLimit {
 public:
  // Starts now. `interrupted` is set from outside (a signal), and outlives this.
  explicit TimeLimit(double seconds, const std::atomic<bool>* interrupted = nullptr);
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

  double spent() const;         // seconds since the start
  double seconds_left() const;  // 0 if it is over
  bool is_interrupted() const { return interrupted_ != nullptr && *interrupted_; }
  bool is_over() const { return is_interrupted() || seconds_left() <= 0; }
  void end_at(double seconds);  // since the start

  // For code that can only read a flag: it is as old as the last `refresh`.
  const std::atomic<bool>* flag() const { return &flag_; }
  void refresh() { flag_ = is_over(); }

 private:
  const std::atomic<bool>* interrupted_;
  std::int64_t start_ns_;
  std::atomic<std::int64_t> end_ns_;
  std::atomic<bool> flag_{false};
};

}  // namespace isomer
