// The options of commands that ask a runtime: which one, where its library is, and how it is set up.
#pragma once

#include <string>
#include <vector>

#include "pipeline/runtime_request.h"

namespace CLI {
class App;
}

namespace isomer::cli {

void add_library_options(CLI::App& command, RuntimeRequest& request);  // of commands with one fixed runtime
void add_runtime_options(CLI::App& command, RuntimeRequest& request);  // those, and which runtimes

// What the worker could not be denied, as a sentence for people; "" where all is as it should be.
std::string network_note(NetworkGuard guard);

}  // namespace isomer::cli
