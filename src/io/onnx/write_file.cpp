#include "io/onnx/write_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <random>
#include <set>

#include "io/onnx/read_text.h"
#include "io/onnx/read_wire.h"

namespace isomer::wire {
namespace {

constexpr int kAttempts = 100;  // to find an unused name

Error failure(const std::filesystem::path& path, std::string_view what, int number) {
  return {fmt::format("{} {}: {}", printable(path.native()), what, system_error_text(number))};
}

// Locks the file; false: another process holds the lock, or has removed the file.
bool is_held(int descriptor) {
  struct stat status{};
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;  // no locks here: nor sweeps
  return ::fstat(descriptor, &status) == 0 && status.st_nlink > 0;
}

// ".isomer-0123456789abcdef" of the name of a file of ours, or "".
std::string stem_of(const std::string& name) {
  constexpr std::string_view kPrefix = ".isomer-";
  constexpr std::size_t kLength = kPrefix.size() + 16;
  if (!name.starts_with(kPrefix) || name.size() <= kLength || name[kLength] != '.') return "";
  const bool is_number = std::ranges::all_of(name.substr(kPrefix.size(), 16), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
  return is_number ? name.substr(0, kLength) : "";
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
      if (!is_held(file.descriptor_.get())) continue;  // it was swept away before it was locked
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

void remove_stale_outputs(const std::filesystem::path& directory) {
  const std::filesystem::path place = directory.empty() ? std::filesystem::path(".") : directory;
  std::error_code error;
  std::map<std::string, std::vector<std::filesystem::path>> found;
  for (std::filesystem::directory_iterator at(place, error), end; !error && at != end; at.increment(error)) {
    std::error_code no_status;
    if (const std::string stem = stem_of(at->path().filename().native());
        !stem.empty() && at->symlink_status(no_status).type() == std::filesystem::file_type::regular)
      found[stem].push_back(at->path());
  }
  for (const auto& [stem, files] : found) {
    const auto first = place / (stem + ".tmp");
    const Descriptor held(::open(first.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!held.is_open() && errno != ENOENT) continue;
    if (held.is_open() && ::flock(held.get(), LOCK_EX | LOCK_NB) != 0) continue;
    for (const auto& file : files) ::unlink(file.c_str());
  }
}

void remove_own_outputs(const std::filesystem::path& directory) {
  std::error_code error;
  const auto place =
      std::filesystem::canonical(directory.empty() ? std::filesystem::path(".") : directory, error);
  if (error) return;
  std::set<std::string> stems;
  for (std::filesystem::directory_iterator at("/proc/self/fd", error), end; !error && at != end;
       at.increment(error)) {
    std::error_code closed;
    const auto file = std::filesystem::read_symlink(at->path(), closed);
    if (closed || file.parent_path() != place) continue;
    if (const std::string stem = stem_of(file.filename().native()); !stem.empty()) stems.insert(stem);
  }
  std::error_code gone;
  for (std::filesystem::directory_iterator at(place, gone), end; !gone && at != end; at.increment(gone))
    if (stems.contains(stem_of(at->path().filename().native()))) ::unlink(at->path().c_str());
}

Result<OutputFile> written_output(const std::filesystem::path& path, std::string_view text) {
  ISOMER_TRY(OutputFile file, OutputFile::create(path));
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t got = ::write(file.descriptor(), text.data() + done, text.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return failure(path, "can't be written", got < 0 ? errno : EIO);
    done += static_cast<std::size_t>(got);
  }
  ISOMER_TRY_DO(file.sync());
  return file;
}

Status write_text(const std::filesystem::path& path, std::string_view text) {
  ISOMER_TRY(OutputFile file, written_output(path, text));
  return file.rename();
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
