// Judge: a runtime that answers questions about models: what are your outputs, do you load it, which is
// faster, which graph did you make of it. It keeps a warm worker and replaces it when a model killed it.
//
// Start reading here, then measure.h (how two models are compared), worker.h and child.h (the process),
// runtime.h (the interface of an engine). One thread at a time; many judges may exist at once.
#pragma once

#include <memory>
#include <string>

#include "runtime/judge/measure.h"
#include "runtime/judge/timing_cache.h"
#include "runtime/worker/worker.h"

namespace isomer {

// The runtime's optimized form of one model, made in a separate process.
struct ModelFacts {
  std::int64_t peak_bytes = 0;  // of loading and running it, beyond the process without it
  std::int64_t load_ns = 0;
  std::vector<KernelKind> kernels;  // of the executed graph; empty if the runtime has no profile
  std::uint64_t reorders = 0;       // of them, changes of the memory layout
};

// The number of these kernels that change the memory layout.
std::uint64_t count_reorders(const std::vector<KernelKind>& kernels);

class Judge {
 public:
  static Outcome<std::unique_ptr<Judge>> start(const WorkerOptions& options);

  const std::string& runtime() const { return runtime_; }
  const std::string& version() const { return version_; }
  NetworkGuard network_guard() const { return guard_; }

  // The outputs by name. Feeds by input name.
  Outcome<NamedTensors> run(const ModelSource& model, const NamedTensors& feeds,
                            const RuntimeOptions& options = {});
  // Whether it loads, at every optimization level that the runtime has; the first level that fails is named.
  Outcome<Done> check_loads(const ModelSource& model, const RuntimeOptions& options = {});
  // The peak of loading and running it, in a separate process, beyond that of the process without it.
  Outcome<std::int64_t> peak_bytes(const ModelSource& model, const SharedFeeds& feeds,
                                   const RuntimeOptions& options = {});
  Outcome<ModelFacts> describe(const ModelSource& model, const SharedFeeds& feeds,
                               const RuntimeOptions& options = {});
  Outcome<Latency> measure(const ModelSource& model, const SharedFeeds& feeds, const MeasureOptions& options,
                           const OnProgress& on_progress = {});
  Outcome<PairMeasurement> measure_pair(const ModelSource& a, const ModelSource& b, const SharedFeeds& feeds,
                                        const MeasureOptions& options, const OnProgress& on_progress = {});

  // From the cache, if the same was measured before under all the same conditions; else measured, and kept.
  // a_digest and b_digest say what is compared, whatever it is called: canonical hashes with the weights in
  // them; feeds_digest which inputs.
  struct PairDigests {
    std::string a, b, feeds;
  };
  Outcome<PairMeasurement> measure_pair(TimingCache& cache, const PairDigests& digests, const ModelSource& a,
                                        const ModelSource& b, const SharedFeeds& feeds,
                                        const MeasureOptions& options, const OnProgress& on_progress = {});

  // For tests and for what is not said above. Alive, or a fresh one.
  Outcome<Worker*> worker();

 private:
  explicit Judge(WorkerOptions options) : options_(std::move(options)) {}
  WorkerOptions options_;
  std::unique_ptr<Worker> worker_;
  std::string runtime_, version_;
  NetworkGuard guard_ = NetworkGuard::None;
};

}  // namespace isomer
