// What `isomer optimize` did, as people are told; programs are told by api/report_json.h.
#pragma once

#include <filesystem>
#include <string>

#include "api/report_json.h"

namespace isomer::cli {

struct OptimizeWords {
  std::filesystem::path in, out;
  OptimizeContext context;
  bool is_verbose = false;
  std::string cache;  // where measurements were kept, in words; or ""
};

std::string to_text(const OptimizeReport& report, const OptimizeWords& words);

}  // namespace isomer::cli
