// Files that are called models, beneath folders: site-packages, node_modules, caches. Nothing is read here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace isomer {

struct FoundFile {
  std::filesystem::path path;
  std::string package;  // that it came with; "": none
  std::uint64_t bytes = 0;
};

// A file that is called a model and is none that can be read, or a folder that can't be.
struct SkippedFile {
  std::filesystem::path path;
  std::string reason;
};

struct FoundFiles {
  std::vector<FoundFile>
      models;  // *.onnx, in the order of their paths; one file under two names is there once
  std::vector<SkippedFile> skipped;
};

// Beneath these folders, or these files themselves. Links are followed, and each folder is visited once, so
// that no loop of links is endless. `is_stopped` ends it early. Error: there is no such folder.
Result<FoundFiles> find_models(const std::vector<std::filesystem::path>& places,
                               const std::function<bool()>& is_stopped);

// The first folder beneath site-packages or node_modules ("rapidocr", "@scope/name"), of the innermost one;
// otherwise beneath the place that is searched; "" for a file that is in none.
std::string package_of(const std::filesystem::path& file, const std::filesystem::path& place);

}  // namespace isomer
