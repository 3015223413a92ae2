// The options of commands that ask a runtime: which one, where its library is, and how it is set up.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/runtime.h"
#include "runtime/worker.h"

namespace CLI {
class App;
}

namespace isomer::cli {

struct RuntimeRequest {
  std::vector<std::string> runtimes = {"ort"};
  std::string library;
  int threads = 1;
  std::string level = "all";
  std::vector<std::string> disabled, config, custom_op_libraries;
  double memory_gib = 0;
  double timeout_seconds = 600;
};

void add_library_options(CLI::App& command, RuntimeRequest& request);  // of commands with one fixed runtime
void add_runtime_options(CLI::App& command, RuntimeRequest& request);  // those, and which runtimes

// Error: a setting that is no KEY=VALUE, a file that is not there, a name that the runtime does not know.
Result<RuntimeOptions> runtime_options(const RuntimeRequest& request);
WorkerOptions worker_options(const RuntimeRequest& request, const std::string& runtime);

// What the worker could not be denied, as a sentence for people; "" where all is as it should be.
std::string network_note(NetworkGuard guard);

}  // namespace isomer::cli
