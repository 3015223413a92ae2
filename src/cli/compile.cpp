// isomer compile: compiles a model to a library that needs no runtime.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <memory>

#include "cli/budget.h"
#include "cli/command.h"
#include "cli/compile_report.h"
#include "cli/feeds_option.h"
#include "cli/interrupt.h"
#include "cli/live.h"
#include "cli/operators_option.h"
#include "cli/shape_option.h"
#include "cli/wording.h"
#include "isomer/isomer.h"

namespace isomer::cli {
namespace {

struct CompileCommand {
  std::filesystem::path model, folder, schedule;
  api::CompileOptions options;
  std::string show, as = "module", precision = "f32", tune = "0", tuning, operators, budget = "5m";
  LiveRequest live;
};

Result<std::string> text_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in && !in.eof()) return Error{fmt::format("can't read {}", path.string())};
  return text;
}

Result<Reply> compile(const CompileCommand& request) {
  api::CompileOptions options = request.options;
  ISOMER_TRY(options.tune_seconds, seconds_of(request.tune, "--tune"));
  ISOMER_TRY(options.budget, seconds_of(request.budget));
  options.tuning = request.tuning == "none" ? std::filesystem::path()
                   : request.tuning.empty() ? api::default_tuning()
                                            : std::filesystem::path(request.tuning);
  options.objects = api::default_objects();
  options.as_operator = request.as == "custom-op";
  if (request.precision != "f32") options.sums = request.precision;
  if (!request.schedule.empty()) {
    ISOMER_TRY(options.schedules, text_of(request.schedule));
  }
  const Interrupt interrupt;
  ISOMER_TRY(const auto live,
             Live::start(request.live, options.budget + options.tune_seconds, interrupt.flag()));
  live->set_kept("no file is written");
  options.run.stop = interrupt.token();
  options.run.progress = [&live](std::string_view now) { live->show(now); };
  const api::Compiled compiled =
      api::compile(api::load(request.model, {.operators = request.operators}), request.folder, options);
  Json json = Json::parse(compiled.json);
  std::string text = compile_text(json, {.in = request.model,
                                         .folder = request.folder,
                                         .name = options.name,
                                         .as_operator = options.as_operator});
  for (const api::Compiled::Nest& nest : compiled.nests)
    if (request.show == "all" || (!request.show.empty() && nest.name.find(request.show) != std::string::npos))
      text += '\n' + nest.text;
  return Reply{Exit::Done, text, json};
}

void add_output_options(CLI::App& command, CompileCommand& request) {
  command.add_option("MODEL", request.model, "An ONNX file")->required();
  command.add_option("-o,--output", request.folder, "The folder to write")->type_name("DIR")->required();
  command.add_option("--name", request.options.name, "The prefix of every symbol")->capture_default_str();
  command.add_option("--target", request.options.target, "The processor to compile for")
      ->check(CLI::IsMember(api::compile_targets()))
      ->type_name("TARGET")
      ->capture_default_str();
  command.add_option("--compiler", request.options.compiler,
                     "The C++ compiler (default: $CXX, clang++ or g++)");
}

void add_schedule_options(CLI::App& command, CompileCommand& request) {
  command
      .add_option("--show", request.show, "Print the loops of nodes whose names contain NODE (default: none)")
      ->type_name("NODE|all");
  command
      .add_option("--schedule", request.schedule,
                  "A file of schedules for the loops of some nodes (default: Isomer chooses)")
      ->type_name("FILE");
  command
      .add_option("--tune", request.tune,
                  "Search for faster schedules of loops for TIME, by measuring: 1m, 10m; 0: don't")
      ->type_name("TIME")
      ->capture_default_str();
  // No check here: the compiler says which searches there are, and which one has left.
  command
      .add_option("--tune-search", request.options.tune_search,
                  "How --tune picks its candidates: evolution or random")
      ->type_name("HOW")
      ->capture_default_str();
  command
      .add_option(
          "--tuning", request.tuning,
          "The folder for the measurements of --tune (default: in the user's cache; none: they are not kept)")
      ->type_name("DIR|none");
}

void add_operator_options(CLI::App& command, CompileCommand& request) {
  command
      .add_option("--as", request.as,
                  "custom-op: also write model.onnx for ONNX Runtime, with operators of the library for the "
                  "regions that are faster so")
      ->check(CLI::IsMember({"module", "custom-op"}))
      ->type_name("KIND")
      ->capture_default_str();
  command
      .add_option("--threads", request.options.threads,
                  "Default number of threads of a run; the comparison with ONNX Runtime uses it, too")
      ->check(CLI::Range(1, 1024))
      ->type_name("N")
      ->capture_default_str();
}

void add_comparison_options(CLI::App& command, CompileCommand& request) {
  command
      .add_option("--budget", request.budget,
                  "Time for the whole run, including the C++ compiler; the time of --tune is added")
      ->type_name("TIME")
      ->capture_default_str();
  command
      .add_option("--seconds", request.options.seconds,
                  "Limit of the time to compare speed with ONNX Runtime; six times that if it leaves open "
                  "whether operators are faster; 0: no comparison")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      .add_option(
          "--min-gain", request.options.min_gain,
          "With --as custom-op: use operators only if they are at least RATIO× faster with 95 % confidence")
      ->check(CLI::Range(1.0, 100.0))
      ->type_name("RATIO")
      ->capture_default_str();
  command
      .add_option("--sums", request.options.sums,
                  "How products are added (default: the first of these within --max-error-growth)")
      ->check(CLI::IsMember(api::sums_of_products()))
      ->type_name("HOW");
  command
      .add_option("--precision", request.precision,
                  "bf16: matrix products of bfloat16, summed in float32; the result is NOT EQUAL to the "
                  "model, and its error is printed")
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->excludes("--sums")
      ->type_name("TYPE")
      ->capture_default_str();
  command
      .add_option("--max-error-growth", request.options.max_error_growth,
                  "Limit of the rounding error against float64, as a multiple of ONNX Runtime's; beyond it "
                  "sums are added more accurately; 0: not measured")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      .add_option(
          "--runtime-library", request.options.run.runtime.library,
          "The library of ONNX Runtime to compare with (default: $ISOMER_ORT_LIBRARY, else that of the "
          "installed Python package)")
      ->type_name("L");
}

}  // namespace

void add_compile(CLI::App& app, Chosen& chosen) {
  auto request = std::make_shared<CompileCommand>();
  CLI::App* command = app.add_subcommand("compile", "Compile a model to a library, which needs no runtime");
  add_output_options(*command, *request);
  add_schedule_options(*command, *request);
  add_operator_options(*command, *request);
  add_comparison_options(*command, *request);
  add_feeds_option(*command, request->options.inputs.file, "Inputs to compare and to measure with",
                   "generated ones");
  add_shape_option(*command, request->options.inputs.sizes,
                   "; with --as custom-op a repeated name begins another size; without it, an extent may be "
                   "?, which leaves it open: x=?x3x48x?");
  command->add_flag(
      "--fixed-sizes", request->options.fixed_sizes,
      "With --as custom-op: write a model for the given size alone. Without it, model.onnx runs at "
      "every size, and is faster at the given ones");
  add_value_option(*command, request->options.inputs.values);
  add_live_options(*command, request->live);
  add_operators_option(*command, request->operators);
  command->add_flag("--json", chosen.json, "Answer in JSON");
  command->callback([&chosen, request] { chosen.run = [request] { return compile(*request); }; });
}

}  // namespace isomer::cli
