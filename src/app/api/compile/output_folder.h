// The folder that `compile` writes. Files are made in a subfolder and moved when all of them are complete, so
// a run that fails or is stopped leaves the folder unchanged. Internal to compile.cpp.
#pragma once

#include <filesystem>
#include <string>

namespace isomer::api {

class OutputFolder {
 public:
  // Throws ErrorKind::BadInput, if it can't be made.
  explicit OutputFolder(std::filesystem::path folder);
  ~OutputFolder();  // removes what was not moved, and the folder if this made it and nothing is in it
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  const std::filesystem::path& path() const { return folder_; }
  const std::filesystem::path& scratch() const { return scratch_; }
  // All files of a folder inside of scratch(), in the place of those that an earlier run of this name wrote.
  void take(const std::filesystem::path& made, const std::string& name) const;

 private:
  std::filesystem::path folder_, scratch_;
  bool is_new_ = false;
};

}  // namespace isomer::api
