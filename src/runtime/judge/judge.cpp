#include "runtime/judge/judge.h"

#include <fmt/format.h>

#include "runtime/engines/engines.h"

namespace isomer {
namespace {

constexpr std::int64_t kProfileNs = 30'000'000;  // enough runs for shares of whole percents

constexpr std::string_view kLevelNames[] = {"none", "basic", "extended", "all"};

}  // namespace

std::uint64_t count_reorders(const std::vector<KernelKind>& kernels) {
  std::uint64_t reorders = 0;
  for (const KernelKind& kind : kernels)
    if (kind.op.starts_with("Reorder")) reorders += kind.nodes;  // ReorderInput, ReorderOutput, Reorder
  return reorders;
}

Outcome<std::unique_ptr<Judge>> Judge::start(const WorkerOptions& options) {
  std::unique_ptr<Judge> judge(new Judge(options));
  if (judge->options_.library.empty()) {
    const Engine* engine = engine_named(options.runtime);
    if (!engine) return Failure{FailureKind::Unavailable, fmt::format("no runtime '{}'", options.runtime)};
    judge->options_.library = find_library(*engine);  // once, not for each worker
  }
  ISOMER_TRY(const Worker* worker, judge->worker());
  judge->runtime_ = worker->runtime();
  judge->version_ = worker->version();
  judge->guard_ = worker->network_guard();
  return judge;
}

Outcome<Worker*> Judge::worker() {
  if (!worker_ || !worker_->is_alive()) {
    worker_.reset();
    ISOMER_TRY(worker_, Worker::start(options_));
  }
  return worker_.get();
}

Outcome<NamedTensors> Judge::run(const ModelSource& model, const NamedTensors& feeds,
                                 const RuntimeOptions& options) {
  ISOMER_TRY(const SharedFeeds shared, SharedFeeds::make(feeds));
  ISOMER_TRY(Worker * worker, this->worker());
  ISOMER_TRY_DO(worker->load(0, model, options, &shared));
  auto outputs = worker->run(0);
  if (worker->is_alive()) ISOMER_TRY_DO(worker->unload(0));
  return outputs;
}

Outcome<Done> Judge::check_loads(const ModelSource& model, const RuntimeOptions& options) {
  RuntimeOptions at_level = options;
  for (const auto level : {OptimizationLevel::None, OptimizationLevel::Basic, OptimizationLevel::Extended,
                           OptimizationLevel::All}) {
    if (runtime_ != "ort" && level != OptimizationLevel::All) continue;  // it has no levels
    at_level.level = level;
    ISOMER_TRY(Worker * worker, this->worker());
    auto loaded = worker->load(0, model, at_level, nullptr);
    if (!loaded) {
      Failure failure = loaded.error();
      failure.what =
          fmt::format("at optimization level {}: {}", kLevelNames[static_cast<int>(level)], failure.what);
      return failure;
    }
    ISOMER_TRY_DO(worker->unload(0));
  }
  return Done{};
}

Outcome<std::int64_t> Judge::peak_bytes(const ModelSource& model, const SharedFeeds& feeds,
                                        const RuntimeOptions& options) {
  ISOMER_TRY(const auto fresh, Worker::start(options_));
  ISOMER_TRY(const ProcessMemory before, fresh->memory());
  ISOMER_TRY_DO(fresh->load(0, model, options, &feeds));
  ISOMER_TRY_DO(fresh->warm(0, 2, 0));
  ISOMER_TRY(const ProcessMemory after, fresh->memory());
  return std::max<std::int64_t>(0, after.peak_bytes - before.resident_bytes);
}

Outcome<ModelFacts> Judge::describe(const ModelSource& model, const SharedFeeds& feeds,
                                    const RuntimeOptions& options) {
  ISOMER_TRY(const auto fresh, Worker::start(options_));  // without memory of other models
  ISOMER_TRY(const ProcessMemory before, fresh->memory());
  fresh->take_runtime_ns();
  ISOMER_TRY_DO(fresh->load(0, model, options, &feeds));
  ModelFacts facts;
  facts.load_ns = fresh->take_runtime_ns();
  ISOMER_TRY_DO(fresh->warm(0, 2, 0));
  ISOMER_TRY(const ProcessMemory after, fresh->memory());
  facts.peak_bytes = std::max<std::int64_t>(0, after.peak_bytes - before.resident_bytes);
  ISOMER_TRY_DO(fresh->unload(0));
  auto kernels = fresh->profile(model, options, feeds, kProfileNs);
  if (kernels) facts.kernels = std::move(*kernels);
  else if (is_deadly(kernels.error())) return kernels.error();
  facts.reorders = count_reorders(facts.kernels);
  return facts;
}

Outcome<Latency> Judge::measure(const ModelSource& model, const SharedFeeds& feeds,
                                const MeasureOptions& options, const OnProgress& on_progress) {
  ISOMER_TRY(Worker * worker, this->worker());
  return measure_latency(*worker, model, feeds, options, on_progress);
}

Outcome<PairMeasurement> Judge::measure_pair(const ModelSource& a, const ModelSource& b,
                                             const SharedFeeds& feeds, const MeasureOptions& options,
                                             const OnProgress& on_progress) {
  ISOMER_TRY(Worker * worker, this->worker());
  return isomer::measure_pair(*worker, a, b, feeds, options, on_progress);
}

Outcome<PairMeasurement> Judge::measure_pair(TimingCache& cache, const PairDigests& digests,
                                             const ModelSource& a, const ModelSource& b,
                                             const SharedFeeds& feeds, const MeasureOptions& options,
                                             const OnProgress& on_progress) {
  const TimingKey key{digests.a, digests.b, digests.feeds, runtime_, version_, options.runtime};
  if (auto known = cache.find(key)) {
    PairMeasurement judged = judge_samples(std::move(known->explored), std::move(known->confirmed), options);
    judged.from_cache = true;
    return judged;
  }
  ISOMER_TRY(PairMeasurement measured, measure_pair(a, b, feeds, options, on_progress));
  if (!measured.is_cut_short) (void)cache.store(key, {measured.explored, measured.confirmed});
  return measured;
}

}  // namespace isomer
