#include "runtime/engines/outcome.h"

#include <fmt/format.h>

namespace isomer {

std::string_view name(FailureKind kind) {
  switch (kind) {
    case FailureKind::Unavailable: return "unavailable";
    case FailureKind::Refused: return "refused";
    case FailureKind::Crashed: return "crashed";
    case FailureKind::OutOfMemory: return "out of memory";
    case FailureKind::TimedOut: return "timed out";
    case FailureKind::Garbled: return "garbled";
    case FailureKind::Stopped: return "stopped";
  }
  ISOMER_UNREACHABLE("a kind of failure");
}

Error to_error(const Failure& failure) {
  switch (failure.kind) {
    case FailureKind::Unavailable:
    case FailureKind::Stopped: return Error{failure.what};
    case FailureKind::Refused: return Error{fmt::format("the runtime refuses it: {}", failure.what)};
    default: return Error{fmt::format("it kills the runtime: {}", failure.what)};
  }
}

}  // namespace isomer
