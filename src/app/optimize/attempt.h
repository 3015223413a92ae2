// Attempt: the slow part of a run of `optimize`, in a separate thread: the search, looks at its drafts,
// advice. It publishes its best result whenever that changes, so that a caller that stops waiting takes the
// result and leaves: a proof or a run in float64 cannot be interrupted, but a thread can be abandoned.
#pragma once

#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/optimize/guard.h"
#include "app/optimize/optimize.h"

namespace isomer {

// The result of an attempt so far.
struct Reached {
  struct Best {
    Draft draft;
    Look look;
    bool is_simplified = false;  // and not faster
  };
  std::optional<Best> best;     // accepted by the guard
  std::string reason;           // why there is none, as far as is known
  bool is_out_of_time = false;  // that is the reason
  std::optional<Look> last;     // that was not accepted
  SearchReport search;
  std::vector<Advice> advice;
  std::optional<std::int64_t> peak_before, peak_after;
  std::vector<std::string> at_zero;  // how the result differs where a size is 0
  std::string runtime, runtime_version;
  std::optional<Error> error;  // the request is at fault, or nothing could be written
};

class Attempt {
 public:
  // The request's limit ends when there must be a result; the attempt moves it between its phases.
  static std::shared_ptr<Attempt> start(OptimizeRequest request, const Model& model, double seconds);
  ~Attempt();
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  // Whether it has ended, at that time at the latest. Whatever was thrown in it is thrown again here.
  bool has_ended(double within_seconds);
  // Returns its result; from now on it is silent and abandoned.
  Reached take();

 private:
  Attempt(OptimizeRequest request, const Model& model, double seconds);
  void run();
  Status work();
  Status try_original();
  Status search_and_look();
  Status look_at_last(std::vector<Draft> history);
  void keep_simplified(const std::vector<Draft>& history);
  void on_draft(const Draft& draft);
  void accept(const Draft& draft, Look look, bool is_simplified = false);
  void reject(const Draft& draft, Look look);
  void find_peaks();
  void try_size_zero();
  void find_advice();
  template <class Change>
  void publish(const Change& change);

  OptimizeRequest request_;
  Model model_;
  double end_;  // seconds since the start
  std::unique_ptr<Trials> trials_;
  std::unique_ptr<Guard> guard_;
  SearchReport report_;  // the thread's own; published when it is complete

  std::mutex mutex_;
  std::condition_variable ended_;
  Reached reached_;
  bool is_silent_ = false, has_ended_ = false;
  std::exception_ptr thrown_;
  std::thread thread_;
};

}  // namespace isomer
