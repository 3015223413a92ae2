// optimize: the whole program on one page. Search, look at the result once more, give it back with its proof;
// or the model as it was, with the reason. Nothing stays on the disk: write_optimized.h is for that.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/optimize/advice.h"
#include "base/result.h"
#include "io/onnx/model.h"
#include "model/graph/interpret.h"
#include "optimizer/search/search.h"
#include "runtime/judge/judge.h"

namespace isomer {

struct OptimizeRequest {
  std::filesystem::path in;       // what the model was read from: the runtime runs it as the original
  std::filesystem::path scratch;  // models that are measured are written as neighbours of this name
  SearchOptions search = {};      // its limit began with the run, before the model was read
  double seconds = 300;           // of the whole run, with reading and writing: --budget
  bool measure = true;            // --judge runtime; otherwise the analytic cost decides
  WorkerOptions worker = {};
  RuntimeOptions runtime = {};
  NamedTensors feeds = {};  // for measuring
  // The same at other sizes: nothing may be slower at any of them. `sizes`: what to call each, the first one
  // too; empty where there is one.
  std::vector<NamedTensors> more_feeds = {};
  std::vector<std::string> sizes = {};
  bool own_feeds = false;  // the user's, or of sizes that the user gave: if they don't run, that is an error
  double min_gain = 1.02;  // the lower end of the 95 % interval must exceed it
  // File size against the original's, obeyed to the byte. nullopt: 1.1, or 16 MiB more where that is larger.
  std::optional<double> max_size_growth = {};
  bool simplify = false;  // the simplified graph is kept where nothing is faster and it is not slower
  // A proof that can't be interrupted is waited for, however late that is; otherwise its thread is left, and
  // the process should end.
  bool waits = false;
  std::function<void(double)> on_best = [](double) {};  // gets the speedup of the best so far
};

// How long a run of a model takes and what it needs.
struct RunCost {
  Interval latency_ns;
  std::optional<std::int64_t> peak_bytes;
};

struct OptimizeReport {
  enum class Result : std::uint8_t { Unchanged, Improved, Simplified } result = Result::Unchanged;
  std::string reason;  // why it is not improved; or ""
  std::optional<Interval> ratio;
  struct AtSize {
    std::string size;
    Interval ratio;
  };
  std::vector<AtSize> sizes;  // where there are several, all that were measured; the first has `ratio`
  std::optional<RunCost> before, after;  // as measured
  std::optional<double> error_before, error_after;
  std::uintmax_t bytes_in = 0, bytes_out = 0;
  std::size_t nodes_in = 0, nodes_out = 0;
  std::string runtime, runtime_version;  // "" if there was none
  struct Kind {
    std::string kind;
    int count = 0, nodes = 0;
  };
  std::vector<Kind> steps;
  Draft::Flushed flushed;  // denormal weights that are zero in the result
  struct Group {
    Change change;      // of the first of them
    std::string label;  // shared by steps with equal gains
    int places = 0;
    int fewer = 0;     // nodes
    double ratio = 0;  // 0: not measured
  };
  std::vector<Group> groups;  // what was done, equal changes together
  // One line for each step: in the words of its proposer, and what became what.
  std::vector<std::string> changes, changes_in_words;
  std::vector<Advice> advice;        // about the original
  int sizes_from = 0;                // open sizes are taken to be at least this
  std::vector<std::string> at_zero;  // how the result differs where one is 0
  SearchReport search;
  std::filesystem::path certificate;  // where it was written; or ""
  double seconds = 0;
  bool is_abandoned = false;  // a thread of it still runs: the process should end without waiting for it
};

struct Optimized {
  Model model;              // as it was, where the report says Unchanged
  std::string certificate;  // that it equals the one that was given, for check_certificate
  OptimizeReport report;
  std::uintmax_t most_bytes = 0;  // that it may have on the disk
};

// The model is the one that was read from request.in. Error: the request or a file is at fault.
Result<Optimized> optimize(OptimizeRequest request, const Model& model);
// The same answer where nothing is searched for: the model as it is.
Optimized unsearched(const OptimizeRequest& request, const Model& model);

}  // namespace isomer
