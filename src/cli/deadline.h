// A time limit as a flag that others poll, and the spelling of times on the command line.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "base/result.h"

namespace isomer::cli {

// Seconds out of "30s", "5m", "1h" or a bare number of seconds.
Result<double> seconds_of(const std::string& text);

class Deadline {
 public:
  explicit Deadline(double seconds);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  const std::atomic<bool>* flag() const { return &is_over_; }
  double seconds_left() const {
    return std::chrono::duration<double>(end_ - std::chrono::steady_clock::now()).count();
  }

 private:
  std::chrono::steady_clock::time_point end_;
  std::atomic<bool> is_over_{false};
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_done_ = false;
  std::thread watch_;
};

}  // namespace isomer::cli
