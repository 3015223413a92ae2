// optimize: the whole program on one page. Search, look at the result once more, write it; or the input's
// bytes back, with the reason.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/interpret.h"
#include "onnx/model.h"
#include "pipeline/advice.h"
#include "runtime/judge.h"
#include "search/search.h"

namespace isomer {

struct OptimizeRequest {
  std::filesystem::path in, out, certificate;
  SearchOptions search = {};
  bool measure = true;  // --judge runtime; otherwise the analytic cost decides
  WorkerOptions worker = {};
  RuntimeOptions runtime = {};
  NamedTensors feeds = {};  // for measuring
  double max_size_growth = 1.1;
};

struct OptimizeReport {
  bool improved = false;
  std::string reason;  // why not; or ""
  std::optional<Interval> ratio;
  std::optional<double> error_before, error_after;
  std::uintmax_t bytes_in = 0, bytes_out = 0;
  struct Kind {
    std::string kind;
    int count = 0, nodes = 0;
  };
  std::vector<Kind> steps;
  struct Group {
    std::string what;
    int places = 0;
    double ratio = 0;  // 0: not measured
  };
  std::vector<Group> groups;      // what was done, the like together
  std::vector<std::string> told;  // one line for each step
  std::vector<Advice> advice;     // about the original
  SearchReport search;
  std::filesystem::path certificate;
};

// The model is the one that was read from request.in.
Result<OptimizeReport> optimize(OptimizeRequest request, const Model& model);

}  // namespace isomer
