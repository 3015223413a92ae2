// isomer optimize: a faster model that is proved equal, or the same file back with the reason.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/budget.h"
#include "cli/cache_option.h"
#include "cli/command.h"
#include "cli/feeds_option.h"
#include "cli/interrupt.h"
#include "cli/live.h"
#include "cli/optimize_report.h"
#include "cli/runtime_option.h"
#include "cli/shape_option.h"
#include "cli/wording.h"
#include "onnx/model.h"
#include "onnx/write_file.h"
#include "pipeline/change_words.h"
#include "pipeline/optimize.h"
#include "pipeline/proposer_names.h"
#include "pipeline/sized_model.h"
#include "pipeline/write_optimized.h"
#include "runtime/feeds.h"
#include "runtime/machine.h"

namespace isomer::cli {
namespace {

namespace fs = std::filesystem;

struct Request {
  fs::path in, out, certificate, feeds;
  std::string budget = "5m", judge = "runtime", strategy = "greedy";
  std::vector<std::string> shapes, without;
  std::int64_t steps = 0;
  double max_error_growth = 2, max_size_growth = 0, min_gain = 1.02;
  std::uint64_t seed = 1;
  bool require_gain = false, simplify = false, fix_shape = false, verbose = false;
  CacheRequest cache;
  LiveRequest live;
  RuntimeRequest runtime;
};

Status fill_search(const Request& request, OptimizeRequest& wish) {
  ISOMER_TRY(wish.search.strategy, parse_strategy(request.strategy));
  ISOMER_TRY(wish.search.without, proposers_named(request.without));
  // "any", for tests of the proposers, takes what the cost does not like, too.
  wish.measure = request.judge == "runtime";
  wish.search.any_price = request.judge == "any";
  if (request.steps > 0) wish.search.steps = request.steps;
  wish.search.max_error_growth = request.max_error_growth;
  wish.search.seed = request.seed;
  return Done{};
}

// Inputs to measure with, and how they are called.
Result<std::string> fill_feeds(const Request& request, const Model& model, OptimizeRequest& wish) {
  wish.own_feeds = !request.feeds.empty() || !request.shapes.empty();
  if (!wish.measure && !wish.own_feeds) return std::string();
  // A model that was made for one size has no others.
  const auto shapes = request.fix_shape ? std::vector<std::string>{} : request.shapes;
  ISOMER_TRY(FeedsForModels made, feeds_for({&model.graph}, request.feeds, shapes, request.seed));
  wish.feeds = std::move(made.tensors);
  return made.words;
}

std::string cache_text(const TimingCache& cache, const OptimizeReport& report) {
  if (!cache.trouble().empty()) return "cache: " + cache.trouble();
  const SearchReport& s = report.search;
  return fmt::format(
      "from earlier runs: {} comparisons, how to prove {} changes, that {} can't be proved; cache: "
      "{}, {} (--cache, --cache-size)",
      s.known_measurements, s.known_proofs, s.known_refusals, cache.path(), bytes_text(cache.bytes()));
}

Exit exit_of(const OptimizeReport& report, const Request& request) {
  const bool is_faster = report.result == OptimizeReport::Result::Improved;
  return is_faster || !request.require_gain ? Exit::Done : Exit::NoGain;
}

Result<Reply> run(const Request& request) {
  const Interrupt interrupt;
  OptimizeRequest wish;
  ISOMER_TRY(wish.seconds, seconds_of(request.budget));
  wish.search.limit = std::make_shared<TimeLimit>(wish.seconds, interrupt.flag());
  if (request.out == "-") return Error{"-o -: a model is written to a file, since its proof goes beside it"};
  wish.in = request.in;
  wish.scratch = request.out;
  OptimizedFiles files{.in = request.in, .out = request.out, .certificate = request.certificate};
  if (files.certificate.empty()) files.certificate = request.out.string() + ".cert";
  ISOMER_TRY_DO(fill_search(request, wish));
  if (request.max_size_growth > 0) wish.max_size_growth = request.max_size_growth;
  wish.min_gain = request.min_gain;
  wish.simplify = request.simplify;
  if (request.runtime.runtimes.size() > 1)
    return Error{"--runtime: a model is made for one runtime; run isomer optimize once for each"};
  ISOMER_TRY(wish.runtime, runtime_options(request.runtime));
  wish.worker = worker_options(request.runtime, request.runtime.runtimes.at(0));
  ISOMER_TRY(Model model, read_model(request.in));
  OptimizeWords words{.in = request.in,
                      .out = request.out,
                      .context = {.machine = this_machine().cpu,
                                  .threads = request.runtime.threads,
                                  .min_gain = request.min_gain},
                      .is_verbose = request.verbose,
                      .cache = {}};
  if (request.fix_shape) {
    ISOMER_TRY(SizedModel sized, read_at_sizes(request.in, model.graph, request.shapes, true));
    model = std::move(sized.model);
    words.context.fixed = std::move(sized.sizes);
    files.writes_unchanged = true;
  }
  ISOMER_TRY(words.context.inputs, fill_feeds(request, model, wish));
  if (wish.measure) wish.search.cache = open_cache(request.cache);
  const auto cache = wish.search.cache;
  const auto limit = wish.search.limit;
  ISOMER_TRY(const auto live, Live::start(request.live, wish.seconds, interrupt.flag()));
  wish.search.progress = [&live](const std::string& now) { live->show(words_of_progress(now)); };
  wish.on_best = [&live](double ratio) { live->show_best(ratio); };
  ISOMER_TRY_DO(check_places(files));
  ISOMER_TRY(Optimized optimized, optimize(std::move(wish), model));
  OptimizeReport& report = optimized.report;
  if (report.result == OptimizeReport::Result::Improved || !request.require_gain)
    ISOMER_TRY_DO(write_optimized(files, optimized));
  else report.bytes_out = report.bytes_in;
  if (report.is_abandoned) wire::remove_own_outputs(request.out.parent_path());
  report.seconds = limit->spent();
  if (cache) words.cache = cache_text(*cache, report);
  OptimizeWords verbose = words;
  verbose.is_verbose = true;
  live->log(to_text(report, verbose));
  const Exit exit = exit_of(report, request);
  return Reply{.exit = exit,
               .text = to_text(report, words),
               .json = to_json(report, words.context),
               .complaint = exit == Exit::Done ? "" : "no gain: " + report.reason,
               .leaves_threads = report.is_abandoned};
}

}  // namespace

void add_optimize(CLI::App& app, Chosen& chosen) {
  auto request = std::make_shared<Request>();
  CLI::App* command =
      app.add_subcommand("optimize", "Make a model faster and prove that it computes the same");
  command->add_option("IN", request->in, "An ONNX file")->type_name("")->required();
  command->add_option("-o,--output", request->out, "Where the result goes")->type_name("OUT")->required();
  command->add_option("--certificate", request->certificate, "Where the proof goes (default: OUT.cert)")
      ->type_name("FILE");
  command->add_option("--budget", request->budget, "Time for the whole run: 30s, 5m, 1h")
      ->type_name("TIME")
      ->capture_default_str();
  command
      ->add_option("--min-gain", request->min_gain,
                   "A result is taken if it is surely (95 %) more than this many times as fast")
      ->check(CLI::Range(1.0, 100.0))
      ->type_name("RATIO")
      ->capture_default_str();
  command->add_flag("--require-gain", request->require_gain,
                    "Write nothing, and exit with 4, unless the result is faster");
  command->add_flag("--simplify", request->simplify,
                    "Where nothing is faster, keep the simplified graph if it has fewer nodes and is surely "
                    "not slower");
  command->add_flag("--fix-shape", request->fix_shape,
                    "Make a model for one size, that of --shape or of the default sizes; equal to IN at that "
                    "size: isomer check IN OUT CERT --shape ...");
  command
      ->add_option("--max-size-growth", request->max_size_growth,
                   "File size against the original's, at most (default: 1.1, or 16 MiB more for small "
                   "files; a number that you give is obeyed to the byte)")
      ->check(CLI::PositiveNumber)
      ->type_name("FACTOR");
  command
      ->add_option("--max-error-growth", request->max_error_growth,
                   "Rounding error against float64, compared with the original's, at most")
      ->check(CLI::PositiveNumber)
      ->type_name("FACTOR")
      ->capture_default_str();
  command
      ->add_option("--judge", request->judge,
                   "What decides: the runtime, by measuring, or an analytic cost, which measures nothing")
      ->check(CLI::IsMember({"runtime", "cost", "any"}))
      ->type_name("runtime|cost")
      ->capture_default_str();
  add_feeds_option(*command, request->feeds, "Inputs to measure with", "made-up ones");
  add_shape_option(*command, request->shapes);
  command
      ->add_option("--strategy", request->strategy,
                   "How far to look: greedy, backtrack:ALPHA (accepts a loss on the way, up to ALPHA) or "
                   "beam:WIDTH")
      ->type_name("S")
      ->capture_default_str();
  command
      ->add_option("--without", request->without,
                   fmt::format("Proposers that are not asked, of {} (default: none)",
                               fmt::join(proposer_names(), ", ")))
      ->delimiter(',')
      ->type_name("NAME,...");
  command
      ->add_option("--steps", request->steps,
                   "Proposals to try, for repeatable runs (default: as many as there is time for)")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  command->add_option("--seed", request->seed, "Of made-up inputs and of the proofs' random tests")
      ->type_name("N")
      ->capture_default_str();
  add_cache_options(*command, request->cache);
  command->add_flag("-v,--verbose", request->verbose, "Tell each step, and what was tried in vain");
  add_live_options(*command, request->live);
  command->add_flag("--json", chosen.json, "Answer in JSON");
  add_runtime_options(*command, request->runtime);
  command->callback([&chosen, request] { chosen.run = [request] { return run(*request); }; });
}

}  // namespace isomer::cli
