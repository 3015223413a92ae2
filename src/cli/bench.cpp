// isomer bench: how fast models are on the runtime that their user deploys, compared in pairs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "cli/bench_report.h"
#include "cli/command.h"
#include "cli/feeds_option.h"
#include "cli/live.h"
#include "cli/runtime_option.h"
#include "cli/shape_option.h"
#include "isomer/isomer.h"

namespace isomer::cli {
namespace {

struct BenchCommand {
  std::vector<std::string> models;
  std::filesystem::path feeds;
  std::vector<std::string> shapes, values;
  RuntimeRequest runtime;
  double seconds = 20;
  std::string clock = "auto";
  std::string cache;
  std::uint64_t seed = 0;
  std::filesystem::path node_data, trace;
  LiveRequest live;
};

// One report; with those of the other runtimes beside it.
Json joined(const std::vector<api::BenchReport>& reports) {
  Json json = Json::parse(reports.front().json);
  for (std::size_t i = 1; i < reports.size(); ++i) json["others"].push_back(Json::parse(reports[i].json));
  return json;
}

api::Inputs inputs_of(const BenchCommand& request) {
  return {.file = request.feeds, .sizes = request.shapes, .values = request.values, .seed = request.seed};
}

// For viewers of other people: of one model, on one runtime.
void write_profile(const BenchCommand& request, const api::Model& model, const api::RuntimeOptions& runtime) {
  if (request.node_data.empty() && request.trace.empty()) return;
  const api::Profile made = api::profile(model, {.inputs = inputs_of(request), .run = {.runtime = runtime}});
  if (!request.node_data.empty()) api::save_text(made.node_data, request.node_data);
  if (!request.trace.empty()) api::save_text(made.trace, request.trace);
}

Result<Reply> bench(const BenchCommand& request) {
  std::vector<api::Model> models;
  models.reserve(request.models.size());
  for (const std::string& path : request.models) models.push_back(api::load(path));
  if (request.runtime.names.size() > 1 && !request.runtime.options.library.empty())
    return Error{"--runtime-library names one library: use it with one --runtime"};
  ISOMER_TRY(const auto runtimes, runtime_options(request.runtime));
  const bool is_profiled = !request.node_data.empty() || !request.trace.empty();
  if (is_profiled && (models.size() > 1 || runtimes.size() > 1))
    return Error{"--node-data and --trace need exactly one model and one runtime"};
  for (const std::filesystem::path& path : {request.node_data, request.trace})
    if (!path.empty() &&
        std::filesystem::weakly_canonical(path) == std::filesystem::weakly_canonical(request.models.front()))
      return Error{fmt::format("{}: it would overwrite the model", path.string())};
  ISOMER_TRY(const auto live, Live::start(request.live));
  const api::BenchOptions options{.seconds = request.seconds,
                                  .clock = clock_named(request.clock),
                                  .cache = request.cache,
                                  .inputs = inputs_of(request),
                                  .run = {.progress = [&live](std::string_view now) { live->show(now); }}};
  Json json = joined(api::bench_on(runtimes, models, options));
  write_profile(request, models.front(), runtimes.front());
  return Reply{Exit::Done, bench_text(json), json};
}

}  // namespace

void add_bench(CLI::App& app, Chosen& chosen) {
  auto request = std::make_shared<BenchCommand>();
  CLI::App* command = app.add_subcommand(
      "bench", "Measure latency, peak memory and operators of models on a runtime, compared in pairs");
  command->add_option("MODEL", request->models, "ONNX files; the others are compared with the first")
      ->required();
  add_feeds_option(*command, request->feeds, "The inputs", "generated ones");
  add_shape_option(*command, request->shapes);
  add_value_option(*command, request->values);
  add_runtime_options(*command, request->runtime);
  command->add_option("--seconds", request->seconds, "Limit of the time of one comparison")
      ->check(CLI::PositiveNumber)
      ->type_name("S")
      ->capture_default_str();
  add_clock_option(*command, request->clock);
  command
      ->add_option("--cache", request->cache,
                   "A cache of comparisons; one that was made under the same conditions is not repeated "
                   "(default: none)")
      ->type_name("FILE");
  command
      ->add_option("--node-data", request->node_data,
                   "Write the time of each node, for Model Explorer (default: no)")
      ->type_name("FILE");
  command
      ->add_option("--trace", request->trace,
                   "Write the kernels of a run as a trace, for ui.perfetto.dev (default: no)")
      ->type_name("FILE");
  command->add_option("--seed", request->seed, "Seed of generated inputs and of the bootstrap")
      ->type_name("N")
      ->capture_default_str();
  add_live_options(*command, request->live);
  command->add_flag("--json", chosen.json, "Answer in JSON");
  command->callback([&chosen, request] { chosen.run = [request] { return bench(*request); }; });
}

}  // namespace isomer::cli
