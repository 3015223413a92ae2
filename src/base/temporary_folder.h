// TemporaryFolder: a folder that is removed with its owner. A folder whose owner was killed stays; a later
// run finds that its lock is free, and removes it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace isomer {

class TemporaryFolder {
 public:
  // parent/PREFIX-XXXXXX. Its path is empty if it can't be made.
  TemporaryFolder(const std::filesystem::path& parent, std::string_view prefix);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

  // Removes folders of this prefix that were made by this class, by a process that is gone.
  static void remove_stale(const std::filesystem::path& parent, std::string_view prefix);

 private:
  std::string path_;
  int lock_ = -1;  // held by the owner; the system gives it up with the process
};

}  // namespace isomer
