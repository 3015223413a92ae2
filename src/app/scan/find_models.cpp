#include "app/scan/find_models.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

namespace isomer {
namespace {

namespace fs = std::filesystem;

using Identity = std::pair<dev_t, ino_t>;

std::string reason_of(int number) { return std::generic_category().message(number); }

// ".onnx", whatever the case of its letters.
std::string ending_of(const fs::path& path) {
  std::string ending = path.extension().string();
  std::ranges::transform(ending, ending.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  return ending;
}

bool is_package_folder(const std::string& name) {
  return name == "site-packages" || name == "dist-packages" || name == "node_modules";
}

class Walk {
 public:
  explicit Walk(const std::function<bool()>& is_stopped) : is_stopped_(is_stopped) {}

  Status visit(const fs::path& place) {
    struct stat status{};
    if (::stat(place.c_str(), &status) != 0)
      return Error{fmt::format("{}: {}", place.string(), reason_of(errno))};
    if (S_ISDIR(status.st_mode)) walk(place);
    else add(place, place.parent_path());
    return Done{};
  }

  FoundFiles take() && {
    std::ranges::sort(found_.models, {}, &FoundFile::path);
    std::ranges::sort(found_.skipped, {}, &SkippedFile::path);
    return std::move(found_);
  }

 private:
  // Depth first and by name, so that of two names of one file it is always the same one that is kept.
  void walk(const fs::path& place) {
    std::vector<fs::path> left{place};
    while (!left.empty() && !is_stopped_()) {
      const fs::path folder = std::move(left.back());
      left.pop_back();
      struct stat status{};
      if (::stat(folder.c_str(), &status) != 0 || !seen_.emplace(status.st_dev, status.st_ino).second)
        continue;
      std::vector<fs::path> inner = look_into(folder, place);
      std::ranges::sort(inner, std::greater<>{});
      left.insert(left.end(), std::make_move_iterator(inner.begin()), std::make_move_iterator(inner.end()));
    }
  }

  // The folders in it.
  std::vector<fs::path> look_into(const fs::path& folder, const fs::path& place) {
    std::vector<fs::path> folders, files;
    std::error_code failure;
    for (fs::directory_iterator at(folder, failure), end; !failure && at != end; at.increment(failure)) {
      std::error_code broken;
      const std::string ending = ending_of(at->path());
      if (at->is_directory(broken)) folders.push_back(at->path());
      else if (ending == ".onnx" || ending == ".ort") files.push_back(at->path());
    }
    if (failure) found_.skipped.push_back({folder, "this folder can't be read: " + failure.message()});
    std::ranges::sort(files);
    for (const fs::path& file : files) add(file, place);
    return folders;
  }

  void add(const fs::path& file, const fs::path& place) {
    struct stat status{};
    if (::stat(file.c_str(), &status) != 0) {
      found_.skipped.push_back({file, reason_of(errno)});
      return;
    }
    if (!seen_.emplace(status.st_dev, status.st_ino).second) return;
    if (!S_ISREG(status.st_mode)) found_.skipped.push_back({file, "not a regular file"});
    else if (ending_of(file) == ".ort")
      found_.skipped.push_back({file, "ONNX Runtime's own format, not an ONNX file"});
    else found_.models.push_back({file, package_of(file, place), static_cast<std::uint64_t>(status.st_size)});
  }

  const std::function<bool()>& is_stopped_;
  std::set<Identity> seen_;  // folders and files
  FoundFiles found_;
};

// The package that begins after this part of a path.
std::string package_at(const std::vector<std::string>& parts, std::size_t at) {
  if (at + 1 >= parts.size()) return "";  // the file itself
  const bool is_scoped = parts[at].starts_with('@') && at + 2 < parts.size();
  return is_scoped ? parts[at] + '/' + parts[at + 1] : parts[at];
}

std::vector<std::string> parts_of(const fs::path& path) {
  std::vector<std::string> parts;
  for (const fs::path& part : path) parts.push_back(part.string());
  return parts;
}

}  // namespace

std::string package_of(const fs::path& file, const fs::path& place) {
  std::error_code failure;
  const fs::path whole = fs::absolute(file, failure).lexically_normal();
  const std::vector<std::string> parts = parts_of(whole);
  for (std::size_t k = parts.size(); k-- > 0;)
    if (is_package_folder(parts[k])) return package_at(parts, k + 1);
  return package_at(parts_of(whole.lexically_relative(fs::absolute(place, failure).lexically_normal())), 0);
}

Result<FoundFiles> find_models(const std::vector<fs::path>& places, const std::function<bool()>& is_stopped) {
  Walk walk(is_stopped);
  for (const fs::path& place : places) ISOMER_TRY_DO(walk.visit(place));
  return std::move(walk).take();
}

}  // namespace isomer
