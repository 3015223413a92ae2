#include "app/measure/bench.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <deque>

#include "app/api/errors.h"
#include "app/api/model_state.h"
#include "app/api/report_json.h"
#include "app/api/stoppable_limit.h"

namespace isomer::api {
namespace {

BenchReport::Pair::Verdict verdict_of(PairVerdict verdict) {
  using enum BenchReport::Pair::Verdict;
  return verdict == PairVerdict::Faster ? Faster : verdict == PairVerdict::Slower ? Slower : NoDifference;
}

BenchReport report_of(const BenchRun& run) {
  BenchReport out{.runtime_version = run.version, .json = json_text(to_json(run))};
  for (const BenchModel& m : run.models)
    out.models.push_back({.failure = m.failure ? to_error(*m.failure).message : "",
                          .latency_ns = to_public(m.latency.wall_ns),
                          .peak_bytes = m.facts.peak_bytes,
                          .load_ns = m.facts.load_ns});
  for (const BenchPair& p : run.pairs)
    out.pairs.push_back({.a = p.a,
                         .b = p.b,
                         .failure = p.failure ? to_error(*p.failure).message : "",
                         .ratio = to_public(p.measured.ratio),
                         .verdict = verdict_of(p.measured.verdict)});
  return out;
}

}  // namespace

Interval to_public(const isomer::Interval& interval) {
  return {interval.estimate, interval.low, interval.high};
}

isomer::Clock internal_clock(Clock clock) {
  return clock == Clock::Wall  ? isomer::Clock::Wall
         : clock == Clock::Cpu ? isomer::Clock::Cpu
                               : isomer::Clock::Auto;
}

BenchReport bench(const std::vector<Model>& models, const BenchOptions& options) {
  return bench_on({options.run.runtime}, models, options).front();
}

std::vector<BenchReport> bench_on(const std::vector<RuntimeOptions>& runtimes,
                                  const std::vector<Model>& models, const BenchOptions& options) {
  return guarded([&] {
    if (models.empty()) throw Error(ErrorKind::BadInput, "there is no model to measure");
    if (runtimes.empty()) throw Error(ErrorKind::BadInput, "there is no runtime to measure on");
    const StoppableLimit limit(options.run.stop);
    std::deque<RunnableFile> files;
    std::vector<BenchModel> subjects;
    for (const Model& model : models) {
      const Model::State& state = model.state();
      files.emplace_back(state, options.run.scratch);
      const std::string name = state.file.empty() ? fmt::format("model {}", subjects.size()) : state.given;
      subjects.push_back(bench_model(name, state.model.graph, files.back().source(), !options.cache.empty()));
    }
    const FeedsForModels feeds = feeds_of(options.inputs, options.run, {models.front()});
    std::vector<BenchRequest> requests;  // all of them before the first is measured: each may be at fault
    for (const RuntimeOptions& each : runtimes) {
      const RuntimeRequest runtime = request_of(each);
      BenchRequest request{.models = subjects,
                           .feeds = feeds.tensors,
                           .inputs = feeds.words,
                           .worker = worker_options(runtime, each.name),
                           .cache = options.cache.string()};
      request.worker.limit = limit.limit();
      request.measure.runtime = take(runtime_options(runtime));
      request.measure.seconds = checked_seconds(options.seconds);
      request.measure.seed = options.inputs.seed;
      request.measure.clock = internal_clock(options.clock);
      if (options.run.progress) request.progress = [&](const std::string& now) { options.run.progress(now); };
      requests.push_back(std::move(request));
    }
    std::vector<BenchRun> runs;
    runs.reserve(requests.size());
    for (const BenchRequest& request : requests) runs.push_back(limit.take(isomer::bench(request)));
    if (const Failure* refusal = nothing_but_refusals(runs))
      throw Error(ErrorKind::Runtime, to_error(*refusal).message);
    std::vector<BenchReport> reports;
    reports.reserve(runs.size());
    for (const BenchRun& run : runs) reports.push_back(report_of(run));
    return reports;
  });
}

}  // namespace isomer::api
