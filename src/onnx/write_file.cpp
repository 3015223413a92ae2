#include "onnx/write_file.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <random>

#include "onnx/read_text.h"
#include "onnx/read_wire.h"

namespace isomer::wire {
namespace {

constexpr int kAttempts = 100;  // at finding a name that nobody uses

Error failure(const std::filesystem::path& path, std::string_view what, int number) {
  return {fmt::format("{} {}: {}", printable(path.native()), what, system_error_text(number))};
}

std::filesystem::path directory_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

}  // namespace

Result<OutputFile> OutputFile::create(const std::filesystem::path& path) {
  std::random_device random;
  OutputFile file;
  file.path_ = path;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const auto name = directory_of(path) / fmt::format(".isomer-{:08x}{:08x}.tmp", random(), random());
    file.descriptor_ =
        Descriptor(::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (file.descriptor_.is_open()) {
      file.temporary_ = name;
      return file;
    }
    if (errno != EEXIST) break;
  }
  return failure(path, "can't be written", errno);
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status OutputFile::sync() {
  if (::fsync(descriptor_.get()) != 0) return failure(path_, "can't be synced", errno);
  return Done{};
}

Status OutputFile::rename() {
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return failure(path_, "can't be put in place", errno);
  temporary_.clear();
  return Done{};
}

Status check_target(const std::filesystem::path& path, const std::vector<FileIdentity>& sources) {
  if (!path.has_filename())
    return Error{fmt::format("{} is not the name of a file", printable(path.native()))};
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    // A link that leads nowhere is replaced like a file.
    if (errno == ENOENT) return Done{};
    return failure(path, "can't be written", errno);
  }
  if (!S_ISREG(status.st_mode))
    return Error{fmt::format("{} exists and is not a regular file", printable(path.native()))};
  if (std::ranges::find(sources, identity(status)) != sources.end()) {
    return Error{fmt::format("{} is a file that the model is read from; write to another name",
                             printable(path.native()))};
  }
  return Done{};
}

Status sync_directory(const std::filesystem::path& directory) {
  const std::filesystem::path name = directory.empty() ? std::filesystem::path(".") : directory;
  const Descriptor descriptor(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems can't sync a directory; the data is safe there by other means.
  if (!descriptor.is_open() || (::fsync(descriptor.get()) != 0 && errno != EINVAL))
    return failure(name, "can't be synced", errno);
  return Done{};
}

}  // namespace isomer::wire
