// Made-up inputs, tried in the runtime: which of them does a model run on?
#pragma once

#include <filesystem>
#include <stop_token>

#include "app/inputs/find_inputs.h"
#include "isomer/isomer.h"

namespace isomer::api {

// Starts a worker when it is first asked, and gives it up when it goes. A runtime that is not there, a model
// that does not load, and time that has run out are for the command itself to tell: the answer is Unknown.
TryInputs try_in_runtime(const Model& model, const RuntimeOptions& runtime,
                         const std::filesystem::path& scratch, const std::stop_token& stop, double seconds,
                         const Progress& progress);

}  // namespace isomer::api
