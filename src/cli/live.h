// Live: the progress of a command, on stderr. On a terminal it is one line that is rewritten: the elapsed
// time, the time left, the best so far, the current task. Elsewhere it is a few plain lines. --quiet prints
// none; --log writes everything, with times, to a file.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.h"

namespace CLI {
class App;
}

namespace isomer::cli {

struct LiveRequest {
  bool quiet = false;
  std::string log;
};
void add_live_options(CLI::App& command, LiveRequest& request);

class Live {
 public:
  // `seconds`: the budget, if there is one. `interrupted`: set by Ctrl-C, which is answered at once.
  static Result<std::unique_ptr<Live>> start(const LiveRequest& request, std::optional<double> seconds = {},
                                             const std::atomic<bool>* interrupted = nullptr);
  ~Live();  // takes the line away
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;

  // From any thread.
  void show(std::string_view now);
  bool say(std::string_view line);  // at once, to stay; false: --quiet
  void show_best(double ratio);     // the speedup of the best so far
  void set_kept(std::string what);  // what Ctrl-C leaves, where nothing is the best so far
  void log(std::string_view text);

 private:
  Live() = default;
  void run();
  void draw_line();
  void write_line();
  void answer_interrupt();

  bool is_quiet_ = false, is_terminal_ = false;
  std::optional<double> seconds_;
  const std::atomic<bool>* interrupted_ = nullptr;
  std::FILE* log_ = nullptr;
  double start_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false, is_drawn_ = false, was_interrupted_ = false;
  std::string now_, last_phase_, kept_ = "nothing faster was measured yet";
  double best_ = 0, told_best_ = 0, last_line_ = 0;
  std::thread thread_;
};

}  // namespace isomer::cli
