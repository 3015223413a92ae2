// What `isomer optimize` did, and how it is told: to people, to programs as JSON.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.h"
#include "pipeline/optimize.h"

namespace isomer::cli {

struct OptimizeWords {
  std::filesystem::path in, out;
  std::string inputs;   // that were measured with, in words: "x 1x3x224x224 (batch=1 was assumed)"
  std::string machine;  // the processor
  int threads = 1;
  double min_gain = 1.02;
  bool is_verbose = false;
  std::string cache;               // where measurements were kept, in words; or ""
  std::vector<std::string> fixed;  // sizes that the result is for; none: all
};

std::string to_text(const OptimizeReport& report, const OptimizeWords& words);
Json to_json(const OptimizeReport& report, const OptimizeWords& words);

}  // namespace isomer::cli
