// Kernels that `optimize --kernels` found before, beside the cache of measurements: for the same model,
// options, machine and runtime. Whoever takes them proves and measures them again. Internal to
// optimize_file.cpp.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "app/api/compile/optimize_kernels.h"
#include "base/entry_cache.h"
#include "isomer/isomer.h"

namespace isomer::api {

// The folder of such kernels.
std::filesystem::path kernels_beside(const std::filesystem::path& cache);

class KeptKernels {
 public:
  KeptKernels(const OptimizeFiles& files, const OptimizeOptions& options, const Model& model);

  // Copies of their files, named as they will be beside `out`; nullopt: there are none.
  std::optional<FoundKernels> find(const std::filesystem::path& folder,
                                   const std::filesystem::path& out) const;
  void keep(const FoundKernels& found) const;

 private:
  std::optional<EntryCache> cache_;  // nullopt: nothing is kept
  std::string key_;
};

}  // namespace isomer::api
