// A cache of compiled objects, by their source, the compiler and its flags, in a folder that candidates, runs
// and processes share. A damaged or truncated object is ignored.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace isomer {

class ObjectCache {
 public:
  // "": nothing is remembered.
  explicit ObjectCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // "": it is not remembered, as it includes other files, or the compiler can't be found. `words`: all
  // arguments but the names of files.
  std::string key(const std::string& compiler, const std::vector<std::string>& words,
                  const std::filesystem::path& source) const;
  bool take(const std::string& key, const std::filesystem::path& object) const;
  void keep(const std::string& key, const std::filesystem::path& object) const;
  // Forgets what was not used for the longest time.
  void shrink() const;

 private:
  std::filesystem::path folder_;
};

}  // namespace isomer
