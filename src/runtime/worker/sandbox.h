// The rights that a worker process gives up before it loads a runtime: memory, CPU time, file sizes, the
// network, other programs and processes, files to write. A model is untrusted bytes and a runtime is a large
// program that parses them.
//
// Not a jail for hostile native code: files can be read. A custom-operator library is as trusted as its user.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace isomer {

struct Limits {
  std::uint64_t memory_bytes = 0;             // of private data; 0: three quarters of the machine's
  std::uint64_t file_bytes = 8ULL << 30;      // of any one file
  std::uint64_t cpu_seconds_per_call = 3600;  // of one request
};

enum class NetworkGuard : std::uint8_t {
  Filter,     // seccomp: a socket can't be made, nor a program or a process started or touched
  Namespace,  // a network namespace of its own, without devices
  None,       // the kernel forbids both
};

// Dies with its parent, which must be the process that started it; false: the parent is gone already.
bool die_with(pid_t parent);

// Everything but CPU time. Returns the guard of the network; the other limits can't fail, except for writing
// files outside of the folder `writable`, which only a kernel with Landlock forbids.
NetworkGuard restrict_process(const Limits& limits, const std::string& writable);

// From now on, this number of seconds of CPU time until SIGXCPU.
void allow_cpu(std::uint64_t seconds);

}  // namespace isomer
