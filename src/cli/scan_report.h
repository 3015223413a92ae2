// What `isomer scan` found, as people read it: the answer, a table, what to do next.
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
