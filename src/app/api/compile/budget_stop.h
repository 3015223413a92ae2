// A stop token that ends work when its time is over, or when the user's token says so. Internal to
// compile.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace isomer::api {

class BudgetStop {
 public:
  // `user_ends_time`: a user's stop ends the time, and what was found until then counts.
  BudgetStop(const std::stop_token& user, double seconds, bool user_ends_time = false)
      : user_(user),
        user_ends_time_(user_ends_time),
        end_(std::chrono::steady_clock::now() + std::chrono::duration<double>(std::min(seconds, kLongest))),
        seconds_(seconds),
        on_user_(user, [this] { source_.request_stop(); }),
        watch_([this, seconds](const std::stop_token& done) { watch(done, seconds); }) {}

  std::stop_token token() const { return source_.get_token(); }
  // The share of the time that is left.
  double share_left() const {
    return std::chrono::duration<double>(end_ - std::chrono::steady_clock::now()).count() / seconds_;
  }
  // The time ended it, not the user.
  bool is_time_over() const { return user_.stop_requested() ? user_ends_time_ : is_over_.load(); }

 private:
  static constexpr double kLongest = 1e8;  // seconds; three years, and no overflow
  void watch(const std::stop_token& done, double seconds) {
    std::unique_lock lock(mutex_);
    const std::chrono::duration<double> most(std::min(seconds, kLongest));
    ended_.wait_for(lock, done, most, [] { return false; });
    if (done.stop_requested()) return;
    is_over_ = true;
    source_.request_stop();
  }

  std::stop_token user_;
  bool user_ends_time_;
  std::chrono::time_point<std::chrono::steady_clock, std::chrono::duration<double>> end_;
  double seconds_;
  std::stop_source source_;
  std::stop_callback<std::function<void()>> on_user_;
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::atomic<bool> is_over_{false};
  std::jthread watch_;
};

}  // namespace isomer::api
