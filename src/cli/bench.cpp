// isomer bench: how fast models are on the runtime that their user deploys, compared in pairs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/bench_report.h"
#include "cli/command.h"
#include "cli/feeds_option.h"
#include "cli/live.h"
#include "cli/runtime_option.h"
#include "cli/shape_option.h"
#include "graph/canonical_hash.h"
#include "onnx/model.h"
#include "runtime/engines.h"

namespace isomer::cli {
namespace {

struct BenchRequest {
  std::vector<std::string> models;
  std::filesystem::path feeds;
  std::vector<std::string> shapes;
  RuntimeRequest runtime;
  double seconds = 20;
  std::string clock = "auto";
  std::string cache;
  std::uint64_t seed = 0;
  LiveRequest live;
};

struct Inputs {
  NamedTensors tensors;
  std::string words;
  std::string digest() const {
    Hasher hasher;
    for (const auto& [name, tensor] : tensors) {
      hasher.add(std::string_view(name));
      add_content(hasher, tensor, ContentDigests::Full);
    }
    return hasher.digest().hex();
  }
};

Result<Inputs> make_inputs(const BenchRequest& request, const Graph& graph) {
  ISOMER_TRY(FeedsForModels made, feeds_for({&graph}, request.feeds, request.shapes, request.seed));
  return Inputs{std::move(made.tensors), std::move(made.words)};
}

std::map<std::string, std::uint64_t> count_operators(const Graph& graph) {
  std::map<std::string, std::uint64_t> counts;
  for (const NodeId id : graph.order())
    if (graph.node(id).kind == NodeKind::Operator) ++counts[graph.node(id).op];
  return counts;
}

class Bench {
 public:
  Bench(const BenchRequest& request, const Inputs& inputs, const SharedFeeds& feeds,
        const std::vector<BenchModel>& models, const MeasureOptions& options, Live& live)
      : request_(request), inputs_(inputs), feeds_(feeds), models_(models), options_(options), live_(live) {
    if (!request.cache.empty()) cache_ = TimingCache::open(request.cache);
  }

  Result<BenchRun> on(const std::string& runtime) {
    auto started = Judge::start(worker_options(request_.runtime, runtime));
    if (!started) return to_error(started.error());
    judge_ = std::move(*started);
    run_ = {runtime,
            std::string(engine_named(runtime)->title),
            judge_->version(),
            options_.runtime.threads,
            judge_->network_guard(),
            inputs_.words,
            models_,
            {},
            {}};
    for (BenchModel& model : run_.models) look_at(model);
    for (std::size_t i = 1; i < run_.models.size(); ++i) compare(i);
    // A model that was in no comparison is timed alone.
    for (std::size_t i = 0; i < run_.models.size(); ++i) {
      const auto is_mine = [i](const BenchPair& pair) {
        return (pair.a == i || pair.b == i) && !pair.failure;
      };
      if (!run_.models[i].failure && std::ranges::none_of(run_.pairs, is_mine)) time_alone(run_.models[i]);
    }
    if (cache_) run_.note = cache_->trouble();
    return std::move(run_);
  }

 private:
  void look_at(BenchModel& model) {
    live_.show(fmt::format("{}: looking at {}", run_.runtime, model.path));
    auto facts = judge_->describe(ModelSource::file(model.path), feeds_, options_.runtime);
    if (facts) model.facts = std::move(*facts);
    else model.failure = facts.error();
  }

  OnProgress progress_of(const std::string& what) {
    return [this, what](const MeasureProgress& now) {
      std::string line =
          fmt::format("{}: {} {}, round {}, {:.0f} %", run_.runtime,
                      now.confirming ? "confirming" : "measuring", what, now.rounds, 100 * now.share);
      if (now.ratio)
        line +=
            fmt::format(", {:.3f} [{:.3f}, {:.3f}]", now.ratio->estimate, now.ratio->low, now.ratio->high);
      live_.show(line);
    };
  }

  void compare(std::size_t b) {
    if (run_.models[0].failure || run_.models[b].failure) return;
    BenchPair pair{0, b, {}, {}};
    const BenchModel &first = run_.models[0], &second = run_.models[b];
    const auto source_a = ModelSource::file(first.path), source_b = ModelSource::file(second.path);
    const OnProgress progress = progress_of(second.path);
    auto measured = cache_ ? judge_->measure_pair(*cache_, {first.digest, second.digest, inputs_.digest()},
                                                  source_a, source_b, feeds_, options_, progress)
                           : judge_->measure_pair(source_a, source_b, feeds_, options_, progress);
    if (!measured) {
      pair.failure = measured.error();
    } else {
      pair.measured = std::move(*measured);
      if (b == 1 || !run_.models[0].latency.wall_ns.high)
        run_.models[0].latency = {pair.measured.a_wall_ns, pair.measured.a_cpu_ns};
      run_.models[b].latency = {pair.measured.b_wall_ns, pair.measured.b_cpu_ns};
    }
    run_.pairs.push_back(std::move(pair));
  }

  void time_alone(BenchModel& model) {
    auto latency = judge_->measure(ModelSource::file(model.path), feeds_, options_, progress_of(model.path));
    if (latency) model.latency = *latency;
    else model.failure = latency.error();
  }

  const BenchRequest& request_;
  const Inputs& inputs_;
  const SharedFeeds& feeds_;
  const std::vector<BenchModel>& models_;
  const MeasureOptions& options_;
  std::unique_ptr<TimingCache> cache_;  // null: none is wanted
  std::unique_ptr<Judge> judge_;
  Live& live_;
  BenchRun run_;
};

// Nothing was measured, and only because the runtime said no: the request is at fault. A model that kills the
// runtime is an answer.
const Failure* nothing_but_refusals(const std::vector<BenchRun>& runs) {
  const Failure* first = nullptr;
  for (const BenchRun& run : runs)
    for (const BenchModel& model : run.models) {
      if (!model.failure || is_deadly(*model.failure)) return nullptr;
      if (!first) first = &*model.failure;
    }
  return first;
}

Result<Reply> bench(const BenchRequest& request) {
  std::vector<BenchModel> models;
  std::optional<Inputs> inputs;
  for (const std::string& path : request.models) {
    ISOMER_TRY(const Model model, read_model(path));
    // Reading all of the weights is worth it only where a cache wants to know them.
    const std::string digest =
        request.cache.empty() ? "" : canonical_hashes(model.graph, ContentDigests::Full).graph.hex();
    models.push_back({path, digest, count_operators(model.graph), {}, {}, {}});
    if (inputs) continue;
    ISOMER_TRY(inputs, make_inputs(request, model.graph));
  }
  if (request.runtime.runtimes.size() > 1 && !request.runtime.library.empty())
    return Error{"--runtime-library names one library: use it with one --runtime"};
  MeasureOptions options;
  ISOMER_TRY(options.runtime, runtime_options(request.runtime));
  options.seconds = request.seconds;
  options.seed = request.seed;
  options.clock = request.clock == "wall" ? Clock::Wall : request.clock == "cpu" ? Clock::Cpu : Clock::Auto;
  auto feeds = SharedFeeds::make(inputs->tensors);
  if (!feeds) return to_error(feeds.error());
  ISOMER_TRY(const auto live, Live::start(request.live));
  std::vector<BenchRun> runs;
  for (const std::string& runtime : request.runtime.runtimes) {
    ISOMER_TRY(BenchRun run, Bench(request, *inputs, *feeds, models, options, *live).on(runtime));
    runs.push_back(std::move(run));
  }
  if (const Failure* refusal = nothing_but_refusals(runs)) return to_error(*refusal);
  return Reply{Exit::Done, to_text(runs), to_json(runs)};
}

}  // namespace

void add_bench(CLI::App& app, Chosen& chosen) {
  auto request = std::make_shared<BenchRequest>();
  CLI::App* command = app.add_subcommand(
      "bench", "Latency, peak memory and operators of models on a runtime, compared in pairs");
  command->add_option("MODEL", request->models, "ONNX files; the others are compared with the first")
      ->required();
  add_feeds_option(*command, request->feeds, "The inputs", "made-up ones");
  add_shape_option(*command, request->shapes);
  add_runtime_options(*command, request->runtime);
  command->add_option("--seconds", request->seconds, "The most that one comparison may take")
      ->check(CLI::PositiveNumber)
      ->type_name("S")
      ->capture_default_str();
  command
      ->add_option("--clock", request->clock,
                   "What the ratio is of: wall time, CPU time of all threads; auto: CPU time with one thread")
      ->check(CLI::IsMember({"auto", "wall", "cpu"}))
      ->type_name("auto|wall|cpu")
      ->capture_default_str();
  command
      ->add_option(
          "--cache", request->cache,
          "Where comparisons are kept; one that was made before under all the same conditions is not "
          "made again (default: nowhere)")
      ->type_name("FILE");
  command->add_option("--seed", request->seed, "Of made-up inputs and of the bootstrap")
      ->type_name("N")
      ->capture_default_str();
  add_live_options(*command, request->live);
  command->add_flag("--json", chosen.json, "Answer in JSON");
  command->callback([&chosen, request] { chosen.run = [request] { return bench(*request); }; });
}

}  // namespace isomer::cli
