#include "app/api/compile/output_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "app/api/errors.h"

namespace isomer::api {
namespace {

namespace fs = std::filesystem;

constexpr char kInterface[] = "interface.json";  // there is one only where all of a module is

// Files that an earlier run may have left: of a module, or of several operators.
void remove_own_files(const fs::path& folder, const std::string& name) {
  const auto is_numbered = [&](const std::string& file) {
    if (!file.starts_with(name + "_")) return false;
    const std::string_view rest = std::string_view(file).substr(name.size() + 1);
    const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    return digits > 0 && (rest.substr(digits) == ".cpp" || rest.substr(digits) == ".weights");
  };
  std::error_code failure;
  std::vector<fs::path> files{folder / kInterface, folder / (name + "_operators.cpp"),
                              folder / fmt::format("lib{}.a", name)};
  for (const char* extension : {".cpp", ".h", ".hpp", ".weights"})
    files.push_back(folder / (name + extension));
  for (const auto& entry : fs::directory_iterator(folder, failure))
    if (is_numbered(entry.path().filename().string())) files.push_back(entry.path());
  for (const fs::path& file : files) fs::remove(file, failure);
}

}  // namespace

OutputFolder::OutputFolder(fs::path folder)
    : folder_(std::move(folder)), scratch_(folder_ / ".isomer-compile") {
  std::error_code failure;
  is_new_ = !fs::exists(folder_, failure);
  fs::remove_all(scratch_, failure);  // of a run that was killed
  fs::create_directories(scratch_, failure);
  if (failure)
    throw Error(ErrorKind::BadInput,
                fmt::format("can't make the folder {}: {}", folder_.string(), failure.message()));
}

OutputFolder::~OutputFolder() {
  std::error_code failure;
  fs::remove_all(scratch_, failure);
  if (is_new_) fs::remove(folder_, failure);  // fails if something is in it, as it should
}

void OutputFolder::take(const fs::path& made, const std::string& name) const {
  remove_own_files(folder_, name);
  std::error_code failure;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(made, failure))
    if (entry.is_regular_file(failure)) files.push_back(entry.path());
  std::ranges::stable_partition(files, [](const fs::path& f) { return f.filename() != kInterface; });
  for (const fs::path& file : files) {
    fs::rename(file, folder_ / file.filename(), failure);
    if (failure) throw Error(ErrorKind::BadInput, "can't write into " + folder_.string());
  }
}

}  // namespace isomer::api
