#include "app/explore/explore.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <cmath>

#include "app/api/errors.h"
#include "app/api/model_state.h"
#include "app/api/report_json.h"
#include "app/api/stoppable_limit.h"
#include "app/explore/prepare_load.h"
#include "app/explore/session_text.h"
#include "app/inputs/stamp.h"
#include "app/measure/bench.h"
#include "app/report/exploration_page.h"
#include "base/temporary_folder.h"
#include "io/onnx/write_file.h"
#include "runtime/judge/machine.h"

namespace isomer::api {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWorkFolder = ".isomer-explore";

ReportJson ratio_json(const isomer::Interval& i) {
  return {{"ratio", i.estimate},
          {"low", i.low},
          {"high", std::isfinite(i.high) ? ReportJson(i.high) : ReportJson()}};
}

std::string ratio_words(const isomer::Interval& i) {
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", i.estimate, i.low, i.high);
}

ReportJson to_json(const ExploreTrial& trial) {
  const auto& passes = trial.passes;
  ReportJson json{{"passes", names_of(passes)}, {"kind", passes.size() == 1 ? text(passes[0].kind) : "set"}};
  json["changes_graph"] = trial.changes_graph ? ReportJson(*trial.changes_graph) : ReportJson();
  json["changes_values"] = passes.size() == 1 && passes[0].changes_values;
  json["bytes"] = trial.bytes;
  json["measured"] = trial.ratio ? ratio_json(*trial.ratio) : ReportJson();
  json["failure"] = trial.failure;
  return json;
}

ReportJson configuration_of(const isomer::RuntimeOptions& options) {
  ReportJson config = ReportJson::object();
  for (const auto& [key, value] : options.config) config[key] = value;
  return {{"optimization_level", text(options.level)},
          {"disabled_optimizers", options.disabled_optimizers},
          {"config", std::move(config)}};
}

std::string_view noun(isomer::Objective objective, bool counts_energy) {
  switch (objective) {
    case isomer::Objective::Latency: return "faster";
    case isomer::Objective::LoadTime: return "faster to load";
    case isomer::Objective::Memory: return "less memory";
    case isomer::Objective::Size: return "smaller";
    case isomer::Objective::Energy:
      return counts_energy ? "less energy, by the processor's counter"
                           : "less CPU time, which stands for energy here";
  }
  ISOMER_UNREACHABLE("an objective");
}

isomer::Objective internal_objective(Objective objective) {
  switch (objective) {
    case Objective::Latency: return isomer::Objective::Latency;
    case Objective::LoadTime: return isomer::Objective::LoadTime;
    case Objective::Memory: return isomer::Objective::Memory;
    case Objective::Size: return isomer::Objective::Size;
    case Objective::Energy: return isomer::Objective::Energy;
  }
  throw Error(ErrorKind::BadInput, "there is no such objective");
}

isomer::ExploreMode internal_mode(ExploreMode mode) {
  switch (mode) {
    case ExploreMode::Fast: return isomer::ExploreMode::Fast;
    case ExploreMode::Mixed: return isomer::ExploreMode::Mixed;
    case ExploreMode::Full: return isomer::ExploreMode::Full;
  }
  throw Error(ErrorKind::BadInput, "there is no such mode");
}

// Shared by all objectives: the model as the runtime gets it, and the request.
struct Exploration {
  Exploration(const Model& model, const ExploreOptions& options)
      : state(model.state()),
        file(state, options.run.scratch),
        limit(options.run.stop),
        runtime(request_of(options.run.runtime)),
        feeds(feeds_of(options.inputs, options.run, {model})),
        request{.model = file.source(), .feeds = feeds.tensors, .inputs = feeds.words} {
    if (options.run.runtime.name != "ort")
      throw Error(ErrorKind::BadInput, "only ONNX Runtime's passes have names: --runtime ort");
    request.objective = internal_objective(options.objective);
    request.mode = internal_mode(options.mode);
    if (options.objective != Objective::LoadTime && (!options.output.empty() || options.this_machine))
      throw Error(ErrorKind::BadInput, "a prepared model is written for the objective load-time only");
    if (!(options.min_gain >= 1)) throw Error(ErrorKind::BadInput, "min_gain must be 1 or more");
    request.model_digest = bench_model("", state.model.graph, file.source(), true).digest;
    request.worker = worker_options(runtime, "ort");
    request.worker.limit = limit.limit();
    request.measure.runtime = take(runtime_options(runtime));
    request.measure.seconds = checked_seconds(options.seconds);
    request.measure.seed = options.inputs.seed;
    request.measure.clock = internal_clock(options.clock);
    request.min_gain = options.min_gain;
    request.control = options.control;
    request.records = options.records;
    if (options.run.progress) request.progress = [&](const std::string& now) { options.run.progress(now); };
  }

  const Model::State& state;
  RunnableFile file;
  StoppableLimit limit;
  RuntimeRequest runtime;
  FeedsForModels feeds;
  ExploreRequest request;
};

// The report with what every objective says.
ExploreReport report_of(const Exploration& asked, const ExploreOptions& options, bool is_better,
                        const std::optional<isomer::Interval>& ratio, const isomer::RuntimeOptions& runtime,
                        std::string line, const ReportJson& rest) {
  ExploreReport out{.is_better = is_better, .runtime = options.run.runtime, .line = std::move(line)};
  if (ratio) out.ratio = to_public(*ratio);
  out.runtime.optimization_level = text(runtime.level);
  out.runtime.disabled_optimizers = runtime.disabled_optimizers;
  out.runtime.config = runtime.config;
  out.python = python_text(runtime);
  out.cpp = cpp_text(runtime);
  const ReportJson configuration = configuration_of(runtime);
  out.configuration = json_text(configuration);
  ReportJson json{{"objective", text(asked.request.objective)},
                  {"mode", text(asked.request.mode)},
                  {"verdict", is_better ? "better" : "none"},
                  {"line", out.line},
                  {"measured", ratio ? ratio_json(*ratio) : ReportJson()},
                  {"min_gain", options.min_gain},
                  {"configuration", configuration},
                  {"python", out.python},
                  {"cpp", out.cpp},
                  {"best", ReportJson::array()},
                  {"passes", ReportJson::array()},
                  {"sets", ReportJson::array()},
                  {"prepared", nullptr},
                  {"control", options.control},
                  {"threads", asked.request.measure.runtime.threads},
                  {"machine", this_machine().cpu},
                  {"inputs", asked.request.inputs}};
  json.update(rest);
  out.json = json_text(json);
  const std::string name = fs::path(asked.state.given).filename().string();
  out.html = exploration_page(json, name.empty() ? "the model" : name, version());
  return out;
}

ExploreReport report_of(const Exploration& asked, const ExploreOptions& options, const ExploreRun& run) {
  const std::vector<std::string> best = names_of(run.best);
  std::string line;
  if (run.is_better)
    line = fmt::format("{} times {} with {}", ratio_words(*run.ratio),
                       noun(asked.request.objective, run.counts_energy), fmt::join(best, ", "));
  else if (run.ratio)
    line = fmt::format("none: the best set is {} times {}, but its 95 % interval does not reach {:.3g}",
                       ratio_words(*run.ratio), noun(asked.request.objective, run.counts_energy),
                       options.min_gain);
  else line = "none: no pass or setting helps";
  ReportJson passes = ReportJson::array(), sets = ReportJson::array();
  for (const ExploreTrial& trial : run.singles) passes.push_back(to_json(trial));
  for (const ExploreTrial& trial : run.sets) sets.push_back(to_json(trial));
  return report_of(asked, options, run.is_better, run.ratio, run.runtime, line,
                   {{"best", best},
                    {"passes", std::move(passes)},
                    {"sets", std::move(sets)},
                    {"version", run.version},
                    {"resumed", run.resumed},
                    {"note", run.note}});
}

// ---- Load time

struct Equality {
  std::string proof = "not tried", why = {};
  std::optional<bool> outputs_differ = {};
};

Equality equality_of(const Model& model, const fs::path& prepared, const ExploreOptions& options) {
  const Model made = load(prepared);
  Equality out;
  const Comparison compared = compare(model, made, {.inputs = options.inputs, .run = options.run});
  out.outputs_differ = compared.differ;
  if (compared.differ || options.output.empty() || options.prove_seconds <= 0) return out;
  const Proof proof = prove_equal(
      model, made,
      {.seconds = options.prove_seconds, .progress = options.run.progress, .stop = options.run.stop});
  out.proof = proof.verdict == Verdict::Proved    ? "proved"
              : proof.verdict == Verdict::Refuted ? "refuted"
                                                  : "not proved";
  out.why = proof.why;
  return out;
}

ReportJson to_json(const LoadFigures& figures) {
  return {{"load", ratio_json(figures.load)},
          {"load_and_first_run", ratio_json(figures.first)},
          {"before_ns", figures.before_ns},
          {"after_ns", figures.after_ns},
          {"clock", figures.by_cpu_time ? "cpu" : "wall"}};
}

// Under their names: the weights first, so that no model is there without them.
void keep(const PreparedLoad& prepared, const ExploreOptions& options, const Equality& equality) {
  Stamp stamp{
      {"prepared_by", fmt::format("ONNX Runtime {}", prepared.version)},
      {"prepared_for", options.this_machine ? fmt::format("processors like {} only", this_machine().cpu)
                                            : std::string("any processor")},
      {"prepared_equal", equality.proof}};
  take(put_stamp(prepared.graph, stamp, std::numeric_limits<std::uintmax_t>::max()));
  std::error_code failure;
  if (!prepared.weights.empty()) fs::rename(prepared.weights, options.output.string() + ".data", failure);
  if (!failure) fs::rename(prepared.graph, options.output, failure);
  if (failure)
    throw Error(ErrorKind::BadInput, fmt::format("{}: {}", options.output.string(), failure.message()));
}

void check_output(const Model::State& state, const fs::path& output) {
  if (output.empty()) return;
  for (const fs::path& path : {output, fs::path(output.string() + ".data")}) {
    std::error_code ignored;
    if (!state.file.empty() && fs::equivalent(path, state.file, ignored))
      throw Error(ErrorKind::BadInput, fmt::format("{}: it would overwrite the model", path.string()));
    take(wire::check_target(path, {}));
  }
}

std::string line_of(const PreparedLoad& prepared, const ExploreOptions& options, const Equality& equality,
                    bool is_better) {
  const std::string load = ratio_words(prepared.plain.load);
  if (equality.outputs_differ.value_or(false)) return "none: the prepared model's outputs differ";
  if (equality.proof == "refuted") return "none: the prepared model is not equal: " + equality.why;
  if (!prepared.runs_as_fast)
    return fmt::format(
        "none: it loads {} times faster, but it is not sure whether it runs as fast: {}; more --seconds or a "
        "quieter machine could decide",
        load, ratio_words(prepared.latency));
  if (!is_better)
    return fmt::format("none: it loads {} times faster, but the 95 % interval does not reach {:.3g}", load,
                       options.min_gain);
  std::string line =
      fmt::format("loads {} times faster, runs at {} times the speed", load, ratio_words(prepared.latency));
  if (prepared.pasted)
    line +=
        fmt::format("; with the options below it loads {} times faster", ratio_words(prepared.pasted->load));
  line += options.this_machine ? fmt::format("; for processors like {} only", this_machine().cpu)
                               : std::string("; for any processor");
  return line + "; " +
         (equality.proof == "proved"      ? "proved equal"
          : equality.proof == "not tried" ? "outputs agree, no proof was tried"
                                          : "NOT PROVED equal, outputs agree: " + equality.why);
}

ExploreReport explore_load(const Model& model, const Exploration& asked, const ExploreOptions& options) {
  check_output(asked.state, options.output);
  const fs::path beside = options.output.empty()             ? scratch_name(options.run.scratch).parent_path()
                          : options.output.has_parent_path() ? options.output.parent_path()
                                                             : fs::path(".");
  TemporaryFolder::remove_stale(beside, kWorkFolder);
  const TemporaryFolder folder(beside, kWorkFolder);
  if (folder.path().empty())
    throw Error(ErrorKind::BadInput, fmt::format("can't make a folder in {}", beside.string()));
  const std::string name = options.output.empty() ? "model.onnx" : options.output.filename().string();
  const PreparedLoad prepared = asked.limit.take(prepare_load({.explore = asked.request,
                                                               .folder = folder.path(),
                                                               .name = name,
                                                               .this_machine = options.this_machine}));
  Equality equality;
  if (prepared.is_better) equality = equality_of(model, prepared.graph, options);
  const bool is_better =
      prepared.is_better && !equality.outputs_differ.value_or(false) && equality.proof != "refuted";
  if (is_better && !options.output.empty()) keep(prepared, options, equality);
  ReportJson made{
      {"path", is_better ? options.output.string() : ""},
      {"this_machine", options.this_machine},
      {"plain", to_json(prepared.plain)},
      {"with_options", prepared.pasted ? to_json(*prepared.pasted) : ReportJson()},
      {"latency", ratio_json(prepared.latency)},
      {"peak_bytes_before", prepared.peak_before},
      {"peak_bytes_after", prepared.peak_after},
      {"bytes", prepared.bytes},
      {"equality", equality.proof},
      {"why", equality.why},
      {"outputs_differ", equality.outputs_differ ? ReportJson(*equality.outputs_differ) : ReportJson()}};
  return report_of(asked, options, is_better, prepared.plain.load,
                   is_better ? prepared.runtime : asked.request.measure.runtime,
                   line_of(prepared, options, equality, is_better),
                   {{"prepared", std::move(made)},
                    {"version", prepared.version},
                    {"resumed", prepared.resumed},
                    {"note", ""}});
}

}  // namespace

ExploreReport explore(const Model& model, const ExploreOptions& options) {
  return guarded([&] {
    const Exploration asked(model, options);
    if (asked.request.objective == isomer::Objective::LoadTime) return explore_load(model, asked, options);
    return report_of(asked, options, asked.limit.take(isomer::explore(asked.request)));
  });
}

}  // namespace isomer::api
