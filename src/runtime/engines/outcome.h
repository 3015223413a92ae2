// Outcome<T>: the result of a call to a runtime: a value, or a kind of failure.
//
// A model that crashes or hangs the runtime is an answer about the model, not a fault of the world; so a
// Failure has a kind, and the search may store it. `to_error` converts it to the command line's message.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace isomer {

enum class FailureKind : std::uint8_t {
  Unavailable,  // no such runtime here: the library or the worker program is missing or too old
  Refused,      // the runtime answered with an error of its own
  Crashed,      // the process died of a signal, or ended itself
  OutOfMemory,  // it reached its limit of memory, or the kernel took it for want of memory
  TimedOut,     // it reached its limit of time and was killed
  Garbled,      // it answered what no worker of ours writes
  Stopped,      // the caller stopped waiting: no answer about the model
};

std::string_view name(FailureKind kind);

struct Failure {
  FailureKind kind = FailureKind::Refused;
  std::string what;
  int model = -1;  // of a pair, which one it was: 0 or 1; -1: not known, or not about a model
};

// Whether the model, loaded again, would do the same to another process: what "kills the runtime" means.
inline bool is_deadly(const Failure& failure) {
  return failure.kind != FailureKind::Refused && failure.kind != FailureKind::Unavailable &&
         failure.kind != FailureKind::Stopped;
}

inline const std::string& message_of(const Failure& failure) { return failure.what; }

template <class T>
using Outcome = Result<T, Failure>;

Error to_error(const Failure& failure);

}  // namespace isomer
