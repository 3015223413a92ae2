// isomer bench: how fast models are on the runtime that their user deploys, compared in pairs.
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "api/report_json.h"
#include "cli/bench_report.h"
#include "cli/command.h"
#include "cli/feeds_option.h"
#include "cli/live.h"
#include "cli/runtime_option.h"
#include "cli/shape_option.h"
#include "onnx/model.h"

namespace isomer::cli {
namespace {

struct BenchCommand {
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

Result<Reply> bench(const BenchCommand& request) {
  std::vector<BenchModel> models;
  std::optional<FeedsForModels> inputs;
  for (const std::string& path : request.models) {
    ISOMER_TRY(const Model model, read_model(path));
    models.push_back(bench_model(path, model.graph, ModelSource::file(path), !request.cache.empty()));
    if (inputs) continue;
    ISOMER_TRY(inputs, feeds_for({&model.graph}, request.feeds, request.shapes, request.seed));
  }
  if (request.runtime.runtimes.size() > 1 && !request.runtime.library.empty())
    return Error{"--runtime-library names one library: use it with one --runtime"};
  MeasureOptions options;
  ISOMER_TRY(options.runtime, runtime_options(request.runtime));
  options.seconds = request.seconds;
  options.seed = request.seed;
  options.clock = request.clock == "wall" ? Clock::Wall : request.clock == "cpu" ? Clock::Cpu : Clock::Auto;
  ISOMER_TRY(const auto live, Live::start(request.live));
  std::vector<BenchRun> runs;
  for (const std::string& runtime : request.runtime.runtimes) {
    auto run = isomer::bench({.models = models,
                              .feeds = inputs->tensors,
                              .inputs = inputs->words,
                              .worker = worker_options(request.runtime, runtime),
                              .measure = options,
                              .cache = request.cache,
                              .progress = [&live](const std::string& now) { live->show(now); }});
    if (!run) return to_error(run.error());
    runs.push_back(std::move(*run));
  }
  if (const Failure* refusal = nothing_but_refusals(runs)) return to_error(*refusal);
  return Reply{Exit::Done, to_text(runs), to_json(runs)};
}

}  // namespace

void add_bench(CLI::App& app, Chosen& chosen) {
  auto request = std::make_shared<BenchCommand>();
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
