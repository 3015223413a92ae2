#include "io/onnx/read_external.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <ranges>

#include "base/mapped_bytes.h"
#include "io/onnx/read_text.h"
#include "io/onnx/read_wire.h"

namespace isomer::wire {
namespace {

constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW;

// Tensors at odd offsets are legal and small in practice (scales behind int8 weights); more than this is
// refused.
constexpr std::uint64_t kMostCopied = std::uint64_t{1} << 30;

// A path that starts here and never goes up, as ONNX requires; the kernel would reject only a path that ends
// up outside.
bool goes_down(std::string_view location) {
  if (location.empty() || location.front() == '/' || location.find('\0') != std::string_view::npos)
    return false;
  return std::ranges::none_of(std::views::split(location, '/'), [](const auto& part) {
    return std::string_view(part.begin(), part.end()) == "..";
  });
}

int open_by_components(int directory, const std::string& location) {
  Descriptor reached;
  std::size_t begin = 0;
  for (std::size_t slash = location.find('/'); slash != std::string::npos;
       slash = location.find('/', begin)) {
    const std::string name = location.substr(begin, slash - begin);
    begin = slash + 1;
    if (name.empty()) continue;
    const int from = reached.is_open() ? reached.get() : directory;
    Descriptor next(::openat(from, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next.is_open()) return errno == ENOTDIR ? -ELOOP : -errno;
    reached = std::move(next);
  }
  const int from = reached.is_open() ? reached.get() : directory;
  const int fd = ::openat(from, location.c_str() + begin, kOpenFlags);
  return fd < 0 ? -errno : fd;
}

// The reason why a file can't be used, to follow its name.
std::string open_failure(int number) {
  if (number == ELOOP) return "is, or lies behind, a symbolic link; put the file itself there";
  if (number == EXDEV) return "leaves the model's directory";
  return fmt::format("can't be opened: {}", system_error_text(number));
}

Error unusable(const std::string& location, std::string_view why) {
  return {fmt::format("is in file {}, which {}", shown(location), why)};
}

}  // namespace

int open_beneath(int directory, const std::string& location, bool without_openat2) {
  if (!goes_down(location)) return -EXDEV;
  if (!without_openat2) {
    struct open_how how{};
    how.flags = static_cast<std::uint64_t>(kOpenFlags);
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    const long fd = ::syscall(SYS_openat2, directory, location.c_str(), &how, sizeof how);
    if (fd >= 0) return static_cast<int>(fd);
    // Sandboxes answer EPERM for system calls that they don't know.
    if (errno != ENOSYS && errno != EPERM) return -errno;
  }
  return open_by_components(directory, location);
}

ExternalFiles::ExternalFiles(std::filesystem::path directory)
    : directory_name_(directory.empty() ? "." : std::move(directory)),
      directory_(::open(directory_name_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {}

Result<ExternalFiles::Opened> ExternalFiles::open(const std::string& location) const {
  if (directory_name_.empty()) return unusable(location, "can't be read here: no other file may be");
  if (!directory_.is_open()) return unusable(location, "is in a directory that can't be opened");
  Opened opened;
  const int result = open_beneath(directory_.get(), location);
  if (result < 0) return unusable(location, open_failure(-result));
  opened.descriptor = Descriptor(result);
  struct stat status{};
  if (::fstat(result, &status) != 0) return unusable(location, open_failure(errno));
  if (!S_ISREG(status.st_mode)) return unusable(location, "is not a regular file");
  if (status.st_nlink != 1) {
    return unusable(location, "has several hard links, so it may be from elsewhere; put a copy there");
  }
  opened.identity = wire::identity(status);
  opened.bytes = static_cast<std::uint64_t>(status.st_size);
  return opened;
}

Result<const ExternalFiles::File*> ExternalFiles::file(const std::string& location) {
  if (const auto known = files_.find(location); known != files_.end()) return &known->second;
  ISOMER_TRY(const Opened opened, open(location));
  File file{location, opened.identity, opened.bytes, nullptr};
  if (const std::size_t size = opened.bytes; size > 0) {
    file.mapping = map_file(opened.descriptor.get(), size);
    if (!file.mapping)
      return unusable(location, fmt::format("can't be mapped: {}", system_error_text(errno)));
  }
  return &files_.emplace(location, std::move(file)).first->second;
}

Result<Bytes> ExternalFiles::range(const std::string& location, std::uint64_t offset, std::uint64_t size,
                                   std::size_t alignment) {
  ISOMER_TRY(const File* source, file(location));
  if (offset > source->bytes || size > source->bytes - offset) {
    return unusable(location, fmt::format("has {} bytes, too few for offset {} and length {}", source->bytes,
                                          offset, size));
  }
  if (size == 0) return Bytes{};
  const auto* data = static_cast<const std::byte*>(source->mapping.get()) + offset;
  if (offset % alignment == 0) return Bytes{source->mapping, data, size};
  copied_bytes_ += size;
  if (copied_bytes_ > kMostCopied) {
    return unusable(location, fmt::format("has over {} MiB at offsets that are no multiples of the element "
                                          "size; save the model anew with aligned offsets",
                                          kMostCopied >> 20));
  }
  return Bytes::copy_of(data, size);
}

Result<Descriptor> ExternalFiles::reopen(const File& file) const {
  auto opened = open(file.location);
  if (!opened.ok() || opened->identity != file.identity || opened->bytes != file.bytes) {
    return Error{fmt::format("external data {} changed since it was read", shown(file.location))};
  }
  return std::move(opened->descriptor);
}

}  // namespace isomer::wire
