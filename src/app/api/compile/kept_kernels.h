// Kernels of earlier runs of `optimize --kernels`, beside the cache of measurements: for the same model,
// options, machine and runtime. They are proved and measured again before use. Internal to optimize_file.cpp.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "app/api/compile/optimize_kernels.h"
#include "app/optimize/write_optimized.h"
#include "base/entry_cache.h"
#include "isomer/isomer.h"

namespace isomer::api {

// Copies of a model with kernels that is written, for the execution provider: it finds them by the model's
// file. Not of models whose weights are in other files: the digest is of one.
void keep_for_provider(const std::filesystem::path& cache, const OptimizedFiles& files,
                       const std::string& runtime_version);

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
