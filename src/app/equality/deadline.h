// Deadline: a time limit as a flag that others poll.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace isomer {

class Deadline {
 public:
  explicit Deadline(double seconds);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  const std::atomic<bool>* flag() const { return &is_over_; }
  // From any thread: it is over now.
  void end();
  double seconds_left() const {
    if (is_stopped_) return 0;
    return std::chrono::duration<double>(end_ - std::chrono::steady_clock::now()).count();
  }

 private:
  std::chrono::steady_clock::time_point end_;
  std::atomic<bool> is_over_{false}, is_stopped_{false};
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_done_ = false;
  std::thread watch_;
};

}  // namespace isomer
