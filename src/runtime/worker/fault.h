// Faults on request: how tests make a worker die as a runtime might. A worker obeys only if it was opened
// with the permission to.
#pragma once

#include <chrono>
#include <string>

namespace isomer {

// One of: segfault, abort, divide, memory, hang, garbage, exit. After the delay, on a thread of its own, so
// that it strikes whatever the worker does then; with no delay, at once. False: no such fault.
bool commit_fault(const std::string& kind, std::chrono::microseconds delay, int socket);

}  // namespace isomer
