// A limit of time that a stop token ends as well.
#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <stop_token>
#include <utility>

#include "app/api/errors.h"
#include "runtime/worker/time_limit.h"

namespace isomer::api {

class StoppableLimit {
 public:
  // From now on; without seconds, only the token ends it.
  explicit StoppableLimit(std::stop_token stop, double seconds = std::numeric_limits<double>::infinity())
      : state_(std::make_shared<State>(seconds)),
        on_stop_(std::move(stop), [state = state_] { state->is_stopped = true; }) {}

  double spent() const { return state_->limit.spent(); }
  std::shared_ptr<TimeLimit> limit() const { return {state_, &state_->limit}; }
  // The result within the limit; throws if there is none, or if the token ended it.
  template <class Found>
  auto take(Found found) const {
    if (state_->is_stopped) throw Error(ErrorKind::Stopped, "it was stopped");
    return api::take(std::move(found));
  }

 private:
  // A limit with the flag that it reads. Code that waits for a runtime may outlive this object.
  struct State {
    explicit State(double seconds) : limit(seconds, &is_stopped) {}
    std::atomic<bool> is_stopped{false};
    TimeLimit limit;
  };
  std::shared_ptr<State> state_;
  std::stop_callback<std::function<void()>> on_stop_;
};

}  // namespace isomer::api
