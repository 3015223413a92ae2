// What `isomer bench` found, as tables for people.
#pragma once

#include <string>

#include "cli/command.h"

namespace isomer::cli {

std::string bench_text(const Json& report);

}  // namespace isomer::cli
