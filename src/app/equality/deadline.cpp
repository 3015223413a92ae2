#include "app/equality/deadline.h"

namespace isomer {

Deadline::Deadline(double seconds)
    : end_(std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                  std::chrono::duration<double>(seconds))),
      watch_([this] {
        std::unique_lock lock(mutex_);
        const bool ended = ended_.wait_until(lock, end_, [this] { return is_done_; });
        if (!ended) is_over_ = true;
      }) {}

void Deadline::end() {
  is_over_ = true;
  is_stopped_ = true;
}

Deadline::~Deadline() {
  {
    const std::lock_guard lock(mutex_);
    is_done_ = true;
  }
  ended_.notify_all();
  watch_.join();
}

}  // namespace isomer
