// isomer gate BASE NEW: may NEW take BASE's place? Speed, and on demand equality, as a check for CI.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "cli/budget.h"
#include "cli/certificate_beside.h"
#include "cli/command.h"
#include "cli/feeds_option.h"
#include "cli/live.h"
#include "cli/runtime_option.h"
#include "cli/shape_option.h"
#include "cli/wording.h"
#include "isomer/isomer.h"

namespace isomer::cli {
namespace {

namespace fs = std::filesystem;

struct GateRequest {
  fs::path base, candidate, feeds, markdown;
  std::vector<std::string> shapes, values, libraries;
  RuntimeRequest runtime;
  double min_ratio = 0.98, seconds = 60;
  bool equal = false;
  int sizes_from = 1;
  std::string clock = "auto", budget = "5m";
  std::uint64_t seed = 0;
  LiveRequest live;
};

Result<api::GateOptions> options_of(const GateRequest& request) {
  ISOMER_TRY(const auto runtimes, runtime_options(request.runtime));
  ISOMER_TRY(const double prove_seconds, seconds_of(request.budget));
  api::GateOptions options{.min_ratio = request.min_ratio,
                           .equal = request.equal,
                           .seconds = request.seconds,
                           .prove_seconds = prove_seconds,
                           .clock = clock_named(request.clock),
                           .inputs = {.file = request.feeds,
                                      .sizes = request.shapes,
                                      .values = request.values,
                                      .seed = request.seed},
                           .run = {.runtime = runtimes.front()}};
  if (!request.libraries.empty()) options.run.runtime.library = request.libraries.back();
  if (request.libraries.size() == 2) {
    options.base_runtime = options.run.runtime;
    options.base_runtime->library = request.libraries.front();
  }
  return options;
}

Result<Reply> gate(const GateRequest& request) {
  if (request.libraries.size() > 2) return Error{"--runtime-library: at most two, BASE's and NEW's"};
  const bool is_one = request.candidate.empty();
  if (is_one && request.libraries.size() != 2)
    return Error{"one model is compared on two runtimes: --runtime-library OLD --runtime-library NEW"};
  ISOMER_TRY(api::GateOptions options, options_of(request));
  const fs::path candidate = is_one ? request.base : request.candidate;
  const api::ModelPair models = api::load_pair(request.base, candidate, {.sizes_from = request.sizes_from});
  if (request.equal) options.certificate = certificate_beside(candidate);
  ISOMER_TRY(const auto live, Live::start(request.live));
  options.run.progress = [&live](std::string_view now) { live->show(now); };
  const api::GateReport report = api::gate(models.a, models.b, options);
  if (!request.markdown.empty()) api::save_text(report.markdown, request.markdown);
  using enum api::GateReport::Verdict;
  const Exit exit = report.verdict == Passes  ? Exit::Done
                    : report.verdict == Fails ? Exit::Refuted
                                              : Exit::Undecided;
  const std::string line = printable(report.line);
  return Reply{exit, line + '\n', Json::parse(report.json), exit == Exit::Done ? "" : line};
}

}  // namespace

void add_gate(CLI::App& app, Chosen& chosen) {
  auto request = std::make_shared<GateRequest>();
  CLI::App* command = app.add_subcommand(
      "gate", "For CI: check that NEW is as fast as BASE and, with --equal, the same function");
  command->add_option("BASE", request->base, "An ONNX file")->type_name("")->required();
  command
      ->add_option("NEW", request->candidate,
                   "An ONNX file with the same inputs, by name, and outputs, by position (default: BASE, "
                   "on another runtime library)")
      ->type_name("");
  command
      ->add_option("--min-ratio", request->min_ratio,
                   "The least speed of NEW relative to BASE: 0.98 allows it to be 2 % slower. Exit 0: it is, "
                   "with 95 % confidence; 1: it is not; 3: not sure within --seconds")
      ->check(CLI::PositiveNumber)
      ->type_name("R")
      ->capture_default_str();
  command->add_flag("--equal", request->equal,
                    "NEW must also be proved equal to BASE; two runtime libraries must compute the same "
                    "except for rounding");
  add_sizes_from_option(*command, request->sizes_from);
  command->add_option("--markdown", request->markdown, "Write the answer for a pull request (default: no)")
      ->type_name("FILE");
  command
      ->add_option("--runtime-library", request->libraries,
                   "The runtime's library; given twice: BASE's, then NEW's (default: that of the installed "
                   "Python package)")
      ->type_name("L")
      ->expected(1)
      ->take_all();
  command->add_option("--seconds", request->seconds, "Limit of the time to measure")
      ->check(CLI::PositiveNumber)
      ->type_name("S")
      ->capture_default_str();
  command->add_option("--budget", request->budget, "Limit of the time to prove: 30s, 5m, 1h")
      ->type_name("TIME")
      ->capture_default_str();
  add_feeds_option(*command, request->feeds, "The inputs", "generated ones");
  add_shape_option(*command, request->shapes);
  add_value_option(*command, request->values);
  add_clock_option(*command, request->clock);
  command
      ->add_option("--runtime", request->runtime.names,
                   fmt::format("The runtime to measure on: {}", fmt::join(api::runtimes(), " or ")))
      ->check(CLI::IsMember(api::runtimes()))
      ->type_name("NAME")
      ->expected(1)
      ->capture_default_str();
  add_setting_options(*command, request->runtime);
  command->add_option("--seed", request->seed, "Seed of generated inputs and of the bootstrap")
      ->type_name("N")
      ->capture_default_str();
  add_live_options(*command, request->live);
  command->add_flag("--json", chosen.json, "Answer in JSON");
  command->callback([&chosen, request] { chosen.run = [request] { return gate(*request); }; });
}

}  // namespace isomer::cli
