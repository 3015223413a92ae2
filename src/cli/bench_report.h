// What `isomer bench` found, as tables for people; programs are told by api/report_json.h.
#pragma once

#include <string>
#include <vector>

#include "pipeline/bench.h"

namespace isomer::cli {

std::string to_text(const std::vector<BenchRun>& runs);

}  // namespace isomer::cli
