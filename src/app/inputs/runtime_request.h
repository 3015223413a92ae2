// The runtime to use and its settings, as a user gives them; checked and converted for runtime/.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/engines/runtime.h"
#include "runtime/worker/worker.h"

namespace isomer {

struct RuntimeRequest {
  std::vector<std::string> runtimes = {"ort"};
  std::string library = {};
  std::string worker = {};  // the program; "": found as worker.h says
  int threads = 1;
  std::string level = "all";
  std::vector<std::string> disabled = {}, config = {}, custom_op_libraries = {};
  double memory_gib = 0;
  double timeout_seconds = 600;
};

// Error: a setting that is no KEY=VALUE, a file that is not there, a name that the runtime does not know.
Result<RuntimeOptions> runtime_options(const RuntimeRequest& request);
WorkerOptions worker_options(const RuntimeRequest& request, const std::string& runtime);

}  // namespace isomer
