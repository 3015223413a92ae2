// isomer optimize: a faster model that is proved equal, or the same file back with the reason.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/budget.h"
#include "cli/cache_option.h"
#include "cli/command.h"
#include "cli/feeds_option.h"
#include "cli/files_option.h"
#include "cli/interrupt.h"
#include "cli/live.h"
#include "cli/operators_option.h"
#include "cli/optimize_report.h"
#include "cli/runtime_option.h"
#include "cli/shape_option.h"
#include "isomer/isomer.h"

namespace isomer::cli {
namespace {

struct Request {
  api::OptimizeFiles files;
  api::OptimizeOptions options;
  std::string budget = "5m", judge = "runtime";
  double max_size_growth = 0;
  bool verbose = false, keep_denormals = false;
  CacheRequest cache;
  LiveRequest live;
  RuntimeRequest runtime;
};

Result<api::OptimizeOptions> options_of(const Request& request) {
  api::OptimizeOptions options = request.options;
  ISOMER_TRY(options.seconds, seconds_of(request.budget));
  if (request.files.out == "-")
    return Error{"-o -: give a file, because the certificate is written beside it"};
  options.judge = request.judge == "cost"  ? api::Judge::Cost
                  : request.judge == "any" ? api::Judge::Any
                                           : api::Judge::Runtime;
  if (request.keep_denormals) options.without.emplace_back("denormals");
  if (request.max_size_growth > 0) options.max_size_growth = request.max_size_growth;
  if (request.runtime.names.size() > 1)
    return Error{"--runtime: give one runtime; run isomer optimize once for each"};
  ISOMER_TRY(const auto runtimes, runtime_options(request.runtime));
  options.run.runtime = runtimes.at(0);
  options.cache = cache_place(request.cache);
  options.cache_mebibytes = request.cache.mebibytes;
  options.may_leave_thread = true;
  return options;
}

Result<Reply> run(const Request& request) {
  const Interrupt interrupt;
  ISOMER_TRY(api::OptimizeOptions options, options_of(request));
  ISOMER_TRY(const auto live, Live::start(request.live, options.seconds, interrupt.flag()));
  options.run.stop = interrupt.token();
  options.run.progress = [&live](std::string_view now) { live->show(now); };
  options.on_best = [&live](double ratio) { live->show_best(ratio); };
  options.notice = [&live](std::string_view what) { live->say(what); };
  const api::Optimized found = api::optimize_file(request.files, options);
  const Json json = Json::parse(found.json);
  OptimizeWords words{.in = request.files.in, .out = request.files.out, .is_verbose = true};
  live->log(optimize_text(json, words));
  words.is_verbose = request.verbose;
  const bool is_faster = found.result == api::Optimized::Result::Improved;
  const Exit exit = is_faster || !request.files.require_gain ? Exit::Done : Exit::NoGain;
  return Reply{.exit = exit,
               .text = optimize_text(json, words),
               .json = json,
               .complaint = exit == Exit::Done ? "" : "no gain: " + found.reason,
               .leaves_threads = found.leaves_thread};
}

}  // namespace

void add_optimize(CLI::App& app, Chosen& chosen) {
  auto request = std::make_shared<Request>();
  CLI::App* command =
      app.add_subcommand("optimize", "Make a model faster and prove that it computes the same function");
  add_file_options(*command, request->files);
  command
      ->add_option("--report", request->files.report,
                   "Also write a report as one HTML file, after the budget (default: no)")
      ->type_name("FILE");
  command->add_flag(
      "--kernels", request->files.kernels,
      "Also compile kernels for regions of the model where that is faster still: a library OUT.kernels.so "
      "beside OUT (without OUT's ending). Needs a C++ compiler. OUT is proved equal and also runs without "
      "the library; isomer.InferenceSession(OUT) in Python loads both");
  command
      ->add_option("--compiler", request->files.compiler,
                   "The C++ compiler, with --kernels (default: $CXX, clang++ or g++)")
      ->type_name("CXX");
  command->add_option("--budget", request->budget, "Time for the whole run: 30s, 5m, 1h")
      ->type_name("TIME")
      ->capture_default_str();
  command
      ->add_option("--min-gain", request->options.min_gain,
                   "Accept a result only if it is at least RATIO× faster with 95 % confidence")
      ->check(CLI::Range(1.0, 100.0))
      ->type_name("RATIO")
      ->capture_default_str();
  command->add_flag("--require-gain", request->files.require_gain,
                    "Write nothing, and exit with 4, unless the result is faster");
  command->add_flag("--simplify", request->options.simplify,
                    "If no result is faster, keep the simplified graph if it has fewer nodes and is not "
                    "slower with 95 % confidence");
  command->add_flag("--fix-shape", request->files.fix_sizes,
                    "Make a model for one size only, that of --shape or one that is found; isomer check IN "
                    "OUT CERT --shape ... proves it equal to IN at that size");
  command
      ->add_option("--max-size-growth", request->max_size_growth,
                   "Limit of the file size, relative to the original's (default: 1.1, or 16 MiB more for "
                   "small files; a given FACTOR is exact to the byte)")
      ->check(CLI::PositiveNumber)
      ->type_name("FACTOR");
  command
      ->add_option("--max-error-growth", request->options.max_error_growth,
                   "Limit of the rounding error against float64, relative to the original's")
      ->check(CLI::PositiveNumber)
      ->type_name("FACTOR")
      ->capture_default_str();
  command
      ->add_option("--judge", request->judge,
                   "How to choose: runtime: by measuring; cost: by an analytic cost, which measures nothing")
      ->check(CLI::IsMember({"runtime", "cost", "any"}))
      ->type_name("runtime|cost")
      ->capture_default_str();
  add_feeds_option(*command, request->options.inputs.file, "Inputs to measure with", "generated ones");
  add_shape_option(*command, request->options.inputs.sizes,
                   ". A repeated name begins another size; a result must not be slower at any of them");
  add_value_option(*command, request->options.inputs.values);
  add_sizes_from_option(*command, request->files.sizes_from);
  command
      ->add_option("--strategy", request->options.strategy,
                   "Search strategy: greedy; backtrack:ALPHA (accepts a temporary loss of up to ALPHA); "
                   "saturate (the best program in an e-graph of all proved steps)")
      ->type_name("S")
      ->capture_default_str();
  command
      ->add_option(
          "--without", request->options.without,
          fmt::format("Proposers to leave out, of {} (default: none)", fmt::join(api::proposers(), ", ")))
      ->delimiter(',')
      ->type_name("NAME,...");
  command->add_option("--only", request->options.only, "Proposers to use, and no others (default: all)")
      ->delimiter(',')
      ->type_name("NAME,...");
  command->add_flag("--keep-denormals", request->keep_denormals,
                    "Keep weights below 2^-126, even if zeros in their place would be faster");
  command
      ->add_option(
          "--rules", request->options.rules,
          "Custom rules (docs/reference/rules.md): a file, or a folder of files *.rules. Each rule is proved "
          "first; a false one is reported and not used (default: none)")
      ->type_name("FILE|DIR");
  command
      ->add_option("--steps", request->options.steps,
                   "Limit of the proposals to try, for reproducible runs (default: the time)")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  command
      ->add_option("--seed", request->options.inputs.seed,
                   "Seed of generated inputs and of the proofs' random tests")
      ->type_name("N")
      ->capture_default_str();
  add_cache_options(*command, request->cache);
  command
      ->add_option(
          "--plans", request->options.plans,
          "A store of plans (docs/guides/plans.md): plans of earlier models are proved and measured first, "
          "and new plans are written there (default: none)")
      ->type_name("DIR");
  command->add_flag("-v,--verbose", request->verbose, "Also print each step, and the failed attempts");
  add_live_options(*command, request->live);
  add_operators_option(*command, request->files.operators);
  command->add_flag("--json", chosen.json, "Answer in JSON");
  add_runtime_options(*command, request->runtime);
  command->callback([&chosen, request] { chosen.run = [request] { return run(*request); }; });
}

}  // namespace isomer::cli
