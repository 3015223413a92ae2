// bench: how fast models are on a runtime, the others compared with the first in pairs.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/graph/graph.h"
#include "runtime/judge/judge.h"

namespace isomer {

struct BenchModel {
  std::string path;                                 // or whatever its user calls it
  std::string digest;                               // of the whole model, weights included; for the cache
  std::map<std::string, std::uint64_t> file_nodes;  // by operator, as the file has them
  ModelSource source = {};
  std::optional<Failure> failure = {};  // set: not measured
  ModelFacts facts = {};
  Latency latency = {};
};

double kernel_ns(const BenchModel& model);  // of all kernels together
std::uint64_t nodes_in_file(const BenchModel& model);

struct BenchPair {
  std::size_t a = 0, b = 0;
  std::optional<Failure> failure;
  PairMeasurement measured;
};

struct BenchRun {
  std::string runtime, title, version;
  int threads = 1;
  NetworkGuard guard = NetworkGuard::None;
  std::string inputs;  // where they came from, in words
  std::vector<BenchModel> models;
  std::vector<BenchPair> pairs;
  std::string note;  // of trouble that changed no answer
};

struct BenchRequest {
  const std::vector<BenchModel>& models;
  const NamedTensors& feeds;
  std::string inputs;  // the feeds, in words
  WorkerOptions worker = {};
  MeasureOptions measure = {};
  std::string cache = {};  // where comparisons are kept; "": nowhere
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

// Error: the runtime can't run. Failures of a model are in the answer.
Outcome<BenchRun> bench(const BenchRequest& request);

// Nothing was measured, and only because the runtime said no: the request is at fault. A model that kills the
// runtime is an answer.
const Failure* nothing_but_refusals(const std::vector<BenchRun>& runs);

// A model for this. The digest reads all weights: only where a cache wants to know.
BenchModel bench_model(std::string path, const Graph& graph, ModelSource source, bool wants_digest);

}  // namespace isomer
