// optimize: the whole program on one page. Read, propose, prove, fold, measure the whole model, write; or the
// input's bytes back, with the reason.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "certify/certificate.h"
#include "graph/interpret.h"
#include "onnx/model.h"
#include "runtime/judge.h"

namespace isomer {

struct OptimizeRequest {
  std::filesystem::path in, out, certificate;
  double seconds = 300;                // --budget
  std::int64_t steps = 1 << 30;        // of the search
  bool measure = true;                 // --judge runtime; otherwise the analytic cost decides
  bool any_price = false;              // not even that: every proved step is taken
  std::set<std::string> without = {};  // proposers that are not asked
  WorkerOptions worker = {};
  RuntimeOptions runtime = {};
  NamedTensors feeds = {};  // for measuring
  double max_error_growth = 2;
  double max_size_growth = 1.1;
  std::uint64_t seed = 1;
  const std::atomic<bool>* stop = nullptr;  // Ctrl-C
  std::function<void(const std::string&)> progress = [](const std::string&) {};
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
  struct Region {
    std::string what;
    int places = 0;
    Interval ratio;
  };
  std::vector<Region> regions;  // as measured in their context, those that were not taken, too
  struct Group {
    std::string what;
    int places = 0;
    double ratio = 0;  // 0: not measured
  };
  std::vector<Group> groups;  // what was done, the like together
  // One line for each step, for each proposal that was not proved, and for each region with none.
  std::vector<std::string> told, refused, declined;
  std::string stopped_by = "done";
  std::filesystem::path certificate;
};

// The model is the one that was read from request.in.
Result<OptimizeReport> optimize(const OptimizeRequest& request, const Model& model);

}  // namespace isomer
