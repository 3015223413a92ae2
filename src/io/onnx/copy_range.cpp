#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "io/onnx/read_wire.h"
#include "io/onnx/write_data.h"

namespace isomer::wire {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
constexpr std::uint64_t kMostAtOnce = std::uint64_t{1}
                                      << 30;  // one system call; the kernel stops at 2 GiB anyway

Error copy_failure(int number) {
  return {fmt::format("the data can't be copied: {}", system_error_text(number))};
}

// Whether the failure means that these two files can't be copied inside the kernel, but otherwise can.
bool is_unsupported(int number) {
  return number == EXDEV || number == EINVAL || number == ENOSYS || number == EOPNOTSUPP || number == EPERM;
}

Status copy_by_buffer(int input, std::uint64_t offset, std::uint64_t size, int output, std::uint64_t target) {
  std::vector<std::byte> buffer(std::min<std::uint64_t>(size, kBufferBytes));
  for (std::uint64_t done = 0; done < size;) {
    const std::size_t wanted = std::min<std::uint64_t>(size - done, buffer.size());
    const ssize_t got = ::pread(input, buffer.data(), wanted, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return copy_failure(got < 0 ? errno : EIO);
    ISOMER_TRY_DO(write_at(output, buffer.data(), static_cast<std::size_t>(got), target + done));
    done += static_cast<std::uint64_t>(got);
  }
  return Done{};
}

// A range that holds data all over.
Status copy_solid(int input, std::uint64_t offset, std::uint64_t size, int output, std::uint64_t target) {
  for (std::uint64_t done = 0; done < size;) {
    off_t from = static_cast<off_t>(offset + done), to = static_cast<off_t>(target + done);
    const ssize_t got = ::copy_file_range(input, &from, output, &to, std::min(size - done, kMostAtOnce), 0);
    if (got < 0 && errno == EINTR) continue;
    // Zero before the end: some file systems answer so where they can't; if the file did shrink, pread will
    // say so.
    if (got == 0 || (got < 0 && is_unsupported(errno))) {
      return copy_by_buffer(input, offset + done, size - done, output, target + done);
    }
    if (got < 0) return copy_failure(errno);
    done += static_cast<std::uint64_t>(got);
  }
  return Done{};
}

}  // namespace

Status write_at(int output, const void* data, std::size_t size, std::uint64_t offset) {
  const auto* bytes = static_cast<const std::byte*>(data);
  for (std::size_t done = 0; done < size;) {
    const ssize_t got = ::pwrite(output, bytes + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return copy_failure(errno);
    done += static_cast<std::size_t>(got);
  }
  return Done{};
}

Status copy_range(int input, std::uint64_t offset, std::uint64_t size, int output, std::uint64_t target) {
  const std::uint64_t end = offset + size;
  for (std::uint64_t at = offset; at < end;) {
    const off_t data = ::lseek(input, static_cast<off_t>(at), SEEK_DATA);
    if (data < 0 && errno == ENXIO) return Done{};  // a hole to the end
    if (data < 0)
      return copy_solid(input, at, end - at, output,
                        target + (at - offset));  // holes are copied as zeros here
    const std::uint64_t begin = std::min(static_cast<std::uint64_t>(data), end);
    const off_t hole = ::lseek(input, static_cast<off_t>(begin), SEEK_HOLE);
    const std::uint64_t stop = hole < 0 ? end : std::min(static_cast<std::uint64_t>(hole), end);
    if (begin < stop)
      ISOMER_TRY_DO(copy_solid(input, begin, stop - begin, output, target + (begin - offset)));
    at = std::max(stop, begin);
    if (begin == end) break;
  }
  return Done{};
}

}  // namespace isomer::wire
