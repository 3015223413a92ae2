#include "base/temporary_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

namespace isomer {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLock = ".isomer-owner";
// A folder is there a moment before its lock is held.
constexpr std::chrono::seconds kYoung{10};

// The descriptor of the lock, held by this process only; -1: there is no lock, or another process holds it.
int locked(const fs::path& folder, int flags) {
  const int file = ::open((folder / kLock).c_str(), flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return -1;
  if (::flock(file, LOCK_EX | LOCK_NB) == 0) return file;
  ::close(file);
  return -1;
}

}  // namespace

TemporaryFolder::TemporaryFolder(const fs::path& parent, std::string_view prefix) {
  std::string name = (parent / (std::string(prefix) + "-XXXXXX")).string();
  if (!::mkdtemp(name.data())) return;
  path_ = name;
  lock_ = locked(path_, O_CREAT);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

void TemporaryFolder::remove_stale(const fs::path& parent, std::string_view prefix) {
  std::error_code failure;
  const std::string begin = std::string(prefix) + "-";
  for (fs::directory_iterator at(parent, failure), end; !failure && at != end; at.increment(failure)) {
    std::error_code ignored;
    const bool is_named = at->path().filename().string().starts_with(begin);
    if (!is_named || !at->is_directory(ignored) || at->is_symlink(ignored)) continue;
    const auto changed = fs::last_write_time(at->path() / kLock, ignored);
    if (ignored || fs::file_time_type::clock::now() - changed < kYoung) continue;
    const int file = locked(at->path(), 0);
    if (file < 0) continue;
    fs::remove_all(at->path(), ignored);
    ::close(file);
  }
}

}  // namespace isomer
