// isomer explore: the runtime's passes and settings that help a model; a model that loads faster.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/budget.h"
#include "cli/command.h"
#include "cli/feeds_option.h"
#include "cli/interrupt.h"
#include "cli/live.h"
#include "cli/runtime_option.h"
#include "cli/shape_option.h"
#include "cli/table.h"
#include "cli/wording.h"
#include "isomer/isomer.h"

namespace isomer::cli {
namespace {

struct ExploreCommand {
  std::filesystem::path model, configuration, report;
  api::ExploreOptions options;
  RuntimeRequest runtime;
  std::string objective = "latency", mode = "mixed", clock = "auto", budget = "1m";
  LiveRequest live;
};

api::Objective objective_named(const std::string& name) {
  return name == "load-time" ? api::Objective::LoadTime
         : name == "memory"  ? api::Objective::Memory
         : name == "size"    ? api::Objective::Size
         : name == "energy"  ? api::Objective::Energy
                             : api::Objective::Latency;
}

api::ExploreMode mode_named(const std::string& name) {
  return name == "fast"   ? api::ExploreMode::Fast
         : name == "full" ? api::ExploreMode::Full
                          : api::ExploreMode::Mixed;
}

std::string interval_text(const Json& measured) {
  if (measured.is_null()) return "";
  return fmt::format(
      "{:.3f} [{:.3f}, {}]", measured["ratio"].get<double>(), measured["low"].get<double>(),
      measured["high"].is_null() ? "?" : fmt::format("{:.3f}", measured["high"].get<double>()));
}

// The passes that were measured, most helpful first: how much better the model is without each.
std::string passes_text(const Json& report) {
  std::vector<Json> rows;
  std::size_t same = 0;
  for (const char* part : {"passes", "sets"})
    for (const Json& trial : report[part]) {
      if (!trial["measured"].is_null() || !trial["failure"].get<std::string>().empty()) rows.push_back(trial);
      else if (trial["changes_graph"] == Json(false)) ++same;
    }
  const auto ratio = [](const Json& trial) {
    return trial["measured"].is_null() ? 0 : trial["measured"]["ratio"].get<double>();
  };
  std::ranges::stable_sort(rows, [&](const Json& a, const Json& b) { return ratio(a) > ratio(b); });
  Table table({{"without (or with)"}, {"kind"}, {"times better"}, {""}});
  for (const Json& trial : rows) {
    const std::string failure = trial["failure"].get<std::string>();
    table.add({fmt::format("{}", fmt::join(trial["passes"].get<std::vector<std::string>>(), " + ")),
               trial["kind"].get<std::string>(), interval_text(trial["measured"]),
               !failure.empty()                      ? printable(failure)
               : trial["changes_values"].get<bool>() ? "changes what is computed: never chosen"
                                                     : ""});
  }
  if (rows.empty()) return "";
  return table.text() + fmt::format("{} names change nothing here\n\n", same);
}

std::string prepared_text(const Json& prepared) {
  if (prepared.is_null()) return "";
  const auto row = [](const Json& figures) {
    return fmt::format("{}; with its first run {}; {} instead of {}", interval_text(figures["load"]),
                       interval_text(figures["load_and_first_run"]),
                       latency_text(figures["after_ns"].get<double>()),
                       latency_text(figures["before_ns"].get<double>()));
  };
  std::string text = fmt::format("times faster to load: {}\n", row(prepared["plain"]));
  if (!prepared["with_options"].is_null())
    text += fmt::format("with options:         {}\n", row(prepared["with_options"]));
  return text + fmt::format("peak memory of loading: {} instead of {}; file {}\n\n",
                            bytes_text(prepared["peak_bytes_after"].get<std::uint64_t>()),
                            bytes_text(prepared["peak_bytes_before"].get<std::uint64_t>()),
                            bytes_text(prepared["bytes"].get<std::uint64_t>()));
}

Result<Reply> explore(const ExploreCommand& request) {
  api::ExploreOptions options = request.options;
  ISOMER_TRY(const auto runtimes, runtime_options(request.runtime));
  options.run.runtime = runtimes.front();
  options.objective = objective_named(request.objective);
  options.mode = mode_named(request.mode);
  options.clock = clock_named(request.clock);
  ISOMER_TRY(options.prove_seconds, seconds_of(request.budget));
  const api::Model model = api::load(request.model);
  const Interrupt interrupt;
  ISOMER_TRY(const auto live, Live::start(request.live, {}, interrupt.flag()));
  live->set_kept(options.records.empty() ? "without --records the answers so far are not kept"
                                         : "the answers so far are kept: the same command continues");
  options.run.stop = interrupt.token();
  options.run.progress = [&live](std::string_view now) { live->show(now); };
  const api::ExploreReport report = api::explore(model, options);
  if (!request.configuration.empty()) api::save_text(report.configuration, request.configuration);
  if (!request.report.empty()) api::save_text(report.html, request.report);
  const Json json = Json::parse(report.json);
  std::string text = passes_text(json) + prepared_text(json["prepared"]) + printable(report.line) + '\n';
  if (report.is_better) text += '\n' + report.python + '\n' + report.cpp;
  return Reply{Exit::Done, text, json};
}

}  // namespace

void add_explore(CLI::App& app, Chosen& chosen) {
  auto request = std::make_shared<ExploreCommand>();
  api::ExploreOptions& options = request->options;
  CLI::App* command = app.add_subcommand(
      "explore", "Find the fastest ONNX Runtime settings for a model, or a version of it that loads faster");
  command->add_option("MODEL", request->model, "An ONNX file")->required();
  command
      ->add_option("--objective", request->objective,
                   "What to improve. load-time: write a model with the runtime's passes done and its weights "
                   "mapped; size: of the model that the runtime writes; energy: by the processor's counter "
                   "if it may be read, else by CPU time")
      ->check(CLI::IsMember({"latency", "load-time", "memory", "size", "energy"}))
      ->type_name("latency|load-time|memory|size|energy")
      ->capture_default_str();
  command
      ->add_option("--mode", request->mode,
                   "fast: combine every pass that helps alone; mixed: add passes greedily; full: all subsets "
                   "of the five that help most, then as mixed")
      ->check(CLI::IsMember({"fast", "mixed", "full"}))
      ->type_name("fast|mixed|full")
      ->capture_default_str();
  command
      ->add_option("-o,--output", options.output,
                   "For load-time: the file for the prepared model, if it is better; large weights are "
                   "beside it, in OUT.data (default: none)")
      ->type_name("OUT");
  command->add_flag("--this-machine", options.this_machine,
                    "For load-time: the model may be for processors like this one only");
  command->add_option("--budget", request->budget, "For load-time: limit of the time to prove it equal")
      ->type_name("TIME")
      ->capture_default_str();
  command
      ->add_option("--records", options.records,
                   "A file for the answers so far, with which a stopped run continues (default: not kept)")
      ->type_name("FILE");
  command
      ->add_option("--config", request->configuration,
                   "Write the best settings, for --runtime-config-file of other commands (default: no)")
      ->type_name("FILE");
  command
      ->add_option("--report", request->report,
                   "Also write a report as one HTML file, with a picture of each pass's effect (default: no)")
      ->type_name("FILE");
  command
      ->add_option("--seconds", options.seconds,
                   "Limit of the time of one trial; four times that for the final comparison")
      ->check(CLI::PositiveNumber)
      ->type_name("S")
      ->capture_default_str();
  command->add_option("--min-gain", options.min_gain, "A smaller gain is reported as none")
      ->check(CLI::Range(1.0, 1000.0))
      ->type_name("R")
      ->capture_default_str();
  command->add_flag("--control", options.control,
                    "Measure passes that change nothing: every gain is then noise");
  add_feeds_option(*command, options.inputs.file, "The inputs", "generated ones");
  add_shape_option(*command, options.inputs.sizes);
  add_value_option(*command, options.inputs.values);
  add_library_options(*command, request->runtime);
  add_clock_option(*command, request->clock);
  command->add_option("--seed", options.inputs.seed, "Seed of generated inputs and of the bootstrap")
      ->type_name("N")
      ->capture_default_str();
  add_live_options(*command, request->live);
  command->add_flag("--json", chosen.json, "Answer in JSON");
  command->callback([&chosen, request] { chosen.run = [request] { return explore(*request); }; });
}

}  // namespace isomer::cli
