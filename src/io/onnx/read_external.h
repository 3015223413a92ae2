// External data: ranges of files below the model's directory, mapped and never copied.
//
// A location comes from the untrusted model. The kernel resolves it below the directory, without following
// links. The facts about the file are read from the opened descriptor: a regular file, one link, the size.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "io/onnx/descriptor.h"
#include "model/expr/tensor.h"

namespace isomer::wire {

class ExternalFiles {
 public:
  ExternalFiles() = default;  // none: a tensor that needs a file is an error
  // The directory may be missing or unreadable: that is an error only if a tensor needs a file.
  explicit ExternalFiles(std::filesystem::path directory);

  struct File {
    std::string location;
    FileIdentity identity;
    std::uint64_t bytes = 0;
    std::shared_ptr<const void> mapping;  // of the whole file; null if it is empty
  };

  // The file at a location, mapped on first use.
  Result<const File*> file(const std::string& location);
  // Bytes of a file that lie at a multiple of the alignment in memory; those that don't are the one thing
  // that is copied.
  Result<Bytes> range(const std::string& location, std::uint64_t offset, std::uint64_t size,
                      std::size_t alignment);

  // The same file, opened again for copying it; an error if another file took its place.
  Result<Descriptor> reopen(const File& file) const;

  const std::map<std::string, File, std::less<>>& files() const { return files_; }

 private:
  struct Opened {
    Descriptor descriptor;
    FileIdentity identity;
    std::uint64_t bytes = 0;
  };
  // A regular file with one link, beneath the directory.
  Result<Opened> open(const std::string& location) const;

  std::filesystem::path directory_name_;
  Descriptor directory_;
  std::map<std::string, File, std::less<>> files_;
  std::uint64_t copied_bytes_ = 0;
};

// Opens a relative path below a directory without following any link: with openat2, or component by component
// if the kernel or a sandbox does not have it (or if a test requires it). Negative: errno of the failure.
int open_beneath(int directory, const std::string& location, bool without_openat2 = false);

}  // namespace isomer::wire
