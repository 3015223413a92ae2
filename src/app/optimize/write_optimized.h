// What `optimize` came to, as files: the model, and its certificate beside it.
#pragma once

#include <filesystem>

#include "app/optimize/optimize.h"

namespace isomer {

struct OptimizedFiles {
  std::filesystem::path in, out, certificate;
  // What comes back unchanged is the model as it was read, not the file's bytes: it was read at other sizes.
  bool writes_unchanged = false;
  std::string version = {};  // of Isomer, for the stamp
};

// What is wrong with the places that are to be written, before any work is done.
Status check_places(const OptimizedFiles& files);

// Both files or neither; the report says where the certificate is and what the model takes of the disk.
Status write_optimized(const OptimizedFiles& files, Optimized& optimized);

}  // namespace isomer
