// The options for a command's input model, output model and certificate.
#pragma once

#include "isomer/isomer.h"

namespace CLI {
class App;
}

namespace isomer::cli {

void add_file_options(CLI::App& command, api::OptimizeFiles& files);

}  // namespace isomer::cli
