// The spelling of times on the command line.
#pragma once

#include <string>

#include "base/result.h"

namespace isomer::cli {

// Seconds out of "30s", "5m", "1h" or a bare number of seconds.
Result<double> seconds_of(const std::string& text, const std::string& option = "--budget");

}  // namespace isomer::cli
