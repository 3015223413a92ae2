// TimeLimit: until when work may go on. Whoever works asks it between two things; whoever waits for a runtime
// gives up when it is over. Ctrl-C ends it at once.
//
// One limit serves a whole run: its end is moved when a phase (searching, then looking at the result) begins.
#pragma once

#include <atomic>
#include <cstdint>

namespace isomer {

class TimeLimit {
 public:
  // From now on. `interrupted` is set by somebody (a signal), and outlives this.
  explicit TimeLimit(double seconds, const std::atomic<bool>* interrupted = nullptr);
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

  double spent() const;         // seconds since the start
  double seconds_left() const;  // 0 if it is over
  bool is_interrupted() const { return interrupted_ != nullptr && *interrupted_; }
  bool is_over() const { return is_interrupted() || seconds_left() <= 0; }
  void end_at(double seconds);  // since the start

  // For those who can only look at a flag: it is as old as the last `refresh`.
  const std::atomic<bool>* flag() const { return &flag_; }
  void refresh() { flag_ = is_over(); }

 private:
  const std::atomic<bool>* interrupted_;
  std::int64_t start_ns_;
  std::atomic<std::int64_t> end_ns_;
  std::atomic<bool> flag_{false};
};

}  // namespace isomer
