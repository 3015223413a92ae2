// Made-up inputs, tried in the runtime: which of them does a model run on?
#pragma once

#include <filesystem>
#include <stop_token>

#include "app/inputs/find_inputs.h"
#include "isomer/isomer.h"

namespace isomer::api {

// Starts a worker at the first call, and ends it on destruction. The command itself reports a missing
// runtime, a model that does not load, and a timeout: the answer is then Unknown.
TryInputs try_in_runtime(const Model& model, const RuntimeOptions& runtime,
                         const std::filesystem::path& scratch, const std::stop_token& stop, double seconds,
                         const Progress& progress);

}  // namespace isomer::api
