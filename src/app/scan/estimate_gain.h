// Estimates the gain of `optimize` by the analytic cost of `optimize --judge cost`. It measures nothing, and
// writes nothing beside the model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/onnx/model.h"
#include "runtime/worker/time_limit.h"

namespace isomer {

struct Estimate {
  double ratio = 1;         // of the costs, before and after
  std::string reason = {};  // why it is 1
  struct Change {
    std::string words;
    int places = 0;
  };
  std::vector<Change> changes = {};  // that were proved, the most frequent first
  // Weights below 2^-126, which processors compute with slowly: no analytic cost knows of them.
  std::uint64_t float_weights = 0, denormal_weights = 0;
  std::string stopped_by = {};  // "done": nothing was left to try
  double seconds = 0;
  bool is_abandoned = false;  // a thread of it still runs: see OptimizeRequest::waits
};

struct EstimateRequest {
  std::filesystem::path path;  // that the model was read from
  double seconds = 5;
  std::shared_ptr<TimeLimit> limit;  // of these seconds
  bool waits = true;                 // as in OptimizeRequest
};

Result<Estimate> estimate_gain(const EstimateRequest& request, const Model& model);

}  // namespace isomer
