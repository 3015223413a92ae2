// isomer simplify: the same model with fewer nodes, proved equal. No runtime is needed, nothing is measured.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/budget.h"
#include "cli/command.h"
#include "cli/files_option.h"
#include "cli/interrupt.h"
#include "cli/live.h"
#include "cli/operators_option.h"
#include "cli/optimize_report.h"
#include "cli/shape_option.h"
#include "isomer/isomer.h"

namespace isomer::cli {
namespace {

struct Request {
  api::OptimizeFiles files;
  std::string budget = "1m";
  bool verbose = false;
  LiveRequest live;
};

Result<Reply> run(const Request& request) {
  const Interrupt interrupt;
  api::OptimizeOptions options{.judge = api::Judge::Nodes, .may_leave_thread = true};
  ISOMER_TRY(options.seconds, seconds_of(request.budget));
  if (request.files.out == "-")
    return Error{"-o -: give a file, because the certificate is written beside it"};
  ISOMER_TRY(const auto live, Live::start(request.live, options.seconds, interrupt.flag()));
  options.run.stop = interrupt.token();
  options.run.progress = [&live](std::string_view now) { live->show(now); };
  const api::Optimized found = api::optimize_file(request.files, options);
  const Json json = Json::parse(found.json);
  OptimizeWords words{
      .in = request.files.in, .out = request.files.out, .is_verbose = true, .is_simplified = true};
  live->log(optimize_text(json, words));
  words.is_verbose = request.verbose;
  return Reply{.text = optimize_text(json, words), .json = json, .leaves_threads = found.leaves_thread};
}

}  // namespace

void add_simplify(CLI::App& app, Chosen& chosen) {
  auto request = std::make_shared<Request>();
  CLI::App* command =
      app.add_subcommand("simplify", "Make the same model with fewer nodes and prove it equal");
  add_file_options(*command, request->files);
  command->add_option("--budget", request->budget, "Time for the whole run: 30s, 5m, 1h")
      ->type_name("TIME")
      ->capture_default_str();
  add_sizes_from_option(*command, request->files.sizes_from);
  command->add_flag("-v,--verbose", request->verbose, "Also print each step, and the failed attempts");
  add_live_options(*command, request->live);
  add_operators_option(*command, request->files.operators);
  command->add_flag("--json", chosen.json, "Answer in JSON");
  command->callback([&chosen, request] { chosen.run = [request] { return run(*request); }; });
}

}  // namespace isomer::cli
