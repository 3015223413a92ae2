// Child: a process of ours that is watched, killed as a group and always reaped.
//
// A thread starts it and waits for its end. The kernel's "die with your parent" refers to the thread that
// started the child, so that thread must live as long; and since it waits, no zombie stays.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "io/onnx/descriptor.h"
#include "runtime/engines/outcome.h"

namespace isomer {

class Child {
 public:
  // Runs `program PARENT_PID` with the socket as file 3 and what it says on stderr kept.
  static Outcome<std::unique_ptr<Child>> start(const std::string& program, wire::Descriptor socket);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  bool is_alive() const;
  void kill();                     // it and all of its group
  int wait();                      // its status, as waitpid says it
  std::string last_words() const;  // the end of its stderr

 private:
  Child() = default;
  void watch(const std::string& program, const wire::Descriptor& socket);

  wire::Descriptor words_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  pid_t pid_ = 0;
  int start_error_ = -1;  // -1: not known yet
  std::optional<int> status_;
  std::thread watcher_;
};

// How a process ended, for people and for the search.
Failure describe_end(int status, const std::string& last_words);

}  // namespace isomer
