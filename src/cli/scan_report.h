// The result of `isomer scan` as text: the answer, a table, the next steps.
#pragma once

#include <cstddef>
#include <string>

#include "cli/command.h"

namespace isomer::cli {

struct ScanWords {
  double seconds_per_model = 5;  // for an estimate; 0: none requested
  std::size_t columns = 80;
};
std::string scan_text(const Json& report, const ScanWords& words);

}  // namespace isomer::cli
