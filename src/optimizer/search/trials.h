// Trials: the runtime's measurement of a change: of the whole model, or of one region with its neighbours, on
// the real values there.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "io/onnx/model.h"
#include "kernel/prove/step.h"
#include "optimizer/search/observed_machine.h"
#include "optimizer/search/steps.h"
#include "runtime/judge/errors.h"
#include "runtime/judge/judge.h"
#include "runtime/judge/scratch_model.h"

namespace isomer {

// Progress of a measurement, as a line.
OnProgress told_as(const std::function<void(const std::string&)>& progress, const std::string& what);

struct RegionTrial {
  std::optional<PairMeasurement> time;  // nullopt: there was no time
  std::optional<Errors> errors;         // nullopt: float64 would take too long
};

class Trials {
 public:
  struct Options {
    RuntimeOptions runtime;
    NamedTensors feeds;
    std::vector<NamedTensors> more_feeds = {};  // of other sizes, at which whole models are measured, too
    std::filesystem::path out;                  // scratch files are its neighbours
    std::uint64_t seed = 1;
    std::shared_ptr<TimingCache> cache = {};  // for rankings only; null: none
  };
  Trials(std::unique_ptr<Judge> judge, Options options)
      : judge_(std::move(judge)), options_(std::move(options)) {}

  Judge& judge() { return *judge_; }
  // Made at first use.
  ObservedMachine& machine();
  // latency(a) / latency(b) of whole models, confirmed by fresh samples, until it is known whether it exceeds
  // this ratio, at the first size or another one. Never from the cache.
  Outcome<PairMeasurement> compare(const ModelSource& a, const ModelSource& b, double seconds, double beyond,
                                   const OnProgress& progress = {}, std::size_t size = 0);
  // Inputs of the first size, then of the others.
  std::size_t sizes() const { return 1 + options_.more_feeds.size(); }
  const NamedTensors& feeds_of(std::size_t size) const {
    return size == 0 ? options_.feeds : options_.more_feeds[size - 1];
  }
  // The same for choosing between models: not confirmed, and from the cache if it is there. For several sizes
  // the one at which b is worst.
  Outcome<PairMeasurement> rank(const ScratchModel& a, const ScratchModel& b, double seconds,
                                const OnProgress& progress = {});
  // Records the inputs of the regions of these steps: the model is run once.
  Outcome<Done> observe(const Model& model, const Workpiece& piece, const std::vector<const Step*>& steps);
  // One of them, in its context. seconds = 0: errors only, if float64 takes at most `most_operations`
  // operations.
  Outcome<RegionTrial> region(const Workpiece& piece, const Step& step, ProofCache& proofs, double seconds,
                              double most_operations);
  // Errors against float64, if that takes at most `most` operations.
  Outcome<std::optional<Errors>> errors(const Graph& exact, const ModelSource& a, const ModelSource& b,
                                        const NamedTensors& feeds, double most);
  std::size_t known() const { return known_; }  // measurements that the cache had

 private:
  Outcome<PairMeasurement> measure(const ScratchModel& a, const ScratchModel& b, const NamedTensors& feeds,
                                   const MeasureOptions& options, const OnProgress& progress);
  std::unique_ptr<Judge> judge_;
  std::unique_ptr<ObservedMachine> machine_;
  Options options_;
  NamedTensors observed_;
  std::size_t known_ = 0;
};

}  // namespace isomer
