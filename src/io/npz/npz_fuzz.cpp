// Any bytes as an archive of arrays: tensors or a refusal, never a crash. It is read from a file in memory.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "io/npz/npz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int file = ::memfd_create("npz", 0);
  if (::ftruncate(file, 0) != 0 || ::pwrite(file, data, size, 0) != static_cast<ssize_t>(size)) std::abort();
  const auto read = isomer::read_npz("/proc/self/fd/" + std::to_string(file));
  if (!read.ok() && read.error().message.empty()) std::abort();
  return 0;
}
