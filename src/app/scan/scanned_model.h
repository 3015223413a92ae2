// A model that was found on a disk, with all its facts; and the list of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/scan/describe_model.h"
#include "app/scan/estimate_gain.h"
#include "app/scan/find_copies.h"
#include "app/scan/find_models.h"

namespace isomer {

struct ScannedModel {
  FoundFile file;
  Description what = {};
  std::string why_not_read = {};                   // "": it was
  std::vector<std::filesystem::path> copies = {};  // with the same bytes
  std::optional<std::size_t> same_as = {};         // the number of an earlier one with this graph and weights
  std::optional<Estimate> estimate = {};
  std::string why_not_estimated = {};

  std::uint64_t bytes() const { return file.bytes + what.external_bytes; }
  // By Isomer: what it made carries its stamp, or lies beside its certificate.
  bool is_optimized() const { return !what.head.stamp.empty() || !what.certificate.empty(); }
};

struct Scanned {
  std::vector<ScannedModel> models = {};
  std::vector<SkippedFile> skipped = {};
  bool is_interrupted = false, leaves_thread = false;
  double seconds = 0;
};

// The command that measures it; the result goes to the current folder.
std::string optimize_command(const std::filesystem::path& model);

}  // namespace isomer
