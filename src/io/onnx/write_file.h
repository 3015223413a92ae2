// OutputFile: a file that exists under its name only once it is complete.
//
// Written as a temporary file in the same directory, synced, renamed. Whatever goes wrong before, the
// temporary file is gone and the name is as it was.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "io/onnx/descriptor.h"

namespace isomer::wire {

class OutputFile {
 public:
  static Result<OutputFile> create(const std::filesystem::path& path);
  OutputFile(OutputFile&& other) noexcept
      : path_(std::move(other.path_)),
        temporary_(std::exchange(other.temporary_, {})),
        descriptor_(std::move(other.descriptor_)) {}
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  int descriptor() const { return descriptor_.get(); }
  // Its temporary name. Files beside it whose names begin with this share its lifetime.
  const std::filesystem::path& temporary() const { return temporary_; }
  Status sync();
  Status rename();  // after sync

 private:
  OutputFile() = default;
  std::filesystem::path path_, temporary_;
  Descriptor descriptor_;
};

// Removes what killed processes left of their output files here. Those that are being written are locked.
void remove_stale_outputs(const std::filesystem::path& directory);

// Removes the outputs that any thread of this process is writing here: for a process that ends without
// waiting for its threads.
void remove_own_outputs(const std::filesystem::path& directory);

// A whole file of this text, or an error and no file.
Result<OutputFile> written_output(const std::filesystem::path& path, std::string_view text);
// The same, under its name.
Status write_text(const std::filesystem::path& path, std::string_view text);

// Whether there may be a file of ours under this name: nothing, or a regular file that is none of those being
// read.
Status check_target(const std::filesystem::path& path, const std::vector<FileIdentity>& sources);

Status sync_directory(const std::filesystem::path& directory);

}  // namespace isomer::wire
