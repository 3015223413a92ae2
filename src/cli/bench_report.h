// The result of `isomer bench`, as tables.
#pragma once

#include <string>

#include "cli/command.h"

namespace isomer::cli {

std::string bench_text(const Json& report);

}  // namespace isomer::cli
