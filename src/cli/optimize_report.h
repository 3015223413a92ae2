// The result of `isomer optimize` as text.
#pragma once

#include <filesystem>
#include <string>

#include "cli/command.h"

namespace isomer::cli {

struct OptimizeWords {
  std::filesystem::path in, out;
  bool is_verbose = false;
  bool is_simplified = false;  // nodes count, not time
};

std::string optimize_text(const Json& report, const OptimizeWords& words);

}  // namespace isomer::cli
