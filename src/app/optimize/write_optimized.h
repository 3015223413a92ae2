// Writes the result of `optimize`: the model, and its certificate beside it.
#pragma once

#include <filesystem>
#include <optional>

#include "app/optimize/optimize.h"

namespace isomer {

// A model with kernels, and what it takes them from, in the folder of OUT's scratch files.
struct KernelFiles {
  std::filesystem::path model, library, weights;  // weights "": there are none
  std::string processor = {};                     // what the library needs, in the words of /proc/cpuinfo
};

struct OptimizedFiles {
  std::filesystem::path in, out, certificate;
  // An unchanged result is the model as it was read, not the file's bytes, because it was read at other
  // sizes.
  bool writes_unchanged = false;
  std::string version = {};  // of Isomer, for the stamp
  // Whether kernels are requested: their paths are OUT's name without its ending, and these.
  bool wants_kernels = false;
  std::optional<KernelFiles> kernels = {};  // nullopt: none are taken; those of an earlier run are removed
  std::filesystem::path library() const { return beside(".kernels.so"); }
  std::filesystem::path weights() const { return beside(".kernels.weights"); }

 private:
  std::filesystem::path beside(const char* ending) const {
    return std::filesystem::path(out).replace_extension() += ending;
  }
};

// Checks the output paths before any work is done.
Status check_places(const OptimizedFiles& files);

// Both files or neither; the report says where the certificate is and what the model takes of the disk.
Status write_optimized(const OptimizedFiles& files, Optimized& optimized);

}  // namespace isomer
