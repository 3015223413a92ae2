// The options of commands that use a runtime: which one, its library, and its settings.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "isomer/isomer.h"

namespace CLI {
class App;
}

namespace isomer::cli {

struct RuntimeRequest {
  std::vector<std::string> names = {"ort"};
  std::vector<std::string> config = {};  // KEY=VALUE
  std::string config_file = {};          // as `isomer explore --config` writes it
  api::RuntimeOptions options = {};      // all else
};
void add_setting_options(CLI::App& command, RuntimeRequest& request);  // but for which runtime it is
void add_library_options(CLI::App& command, RuntimeRequest& request);  // of commands with one fixed runtime
void add_runtime_options(CLI::App& command, RuntimeRequest& request);  // those, and which runtimes

void add_clock_option(CLI::App& command, std::string& clock);
api::Clock clock_named(const std::string& name);

// One for each name.
Result<std::vector<api::RuntimeOptions>> runtime_options(const RuntimeRequest& request);

}  // namespace isomer::cli
