// The model that a command reads, the one that it writes, and where the proof goes.
#pragma once

#include "isomer/isomer.h"

namespace CLI {
class App;
}

namespace isomer::cli {

void add_file_options(CLI::App& command, api::OptimizeFiles& files);

}  // namespace isomer::cli
