// isomer optimize: a faster model that is proved equal, or the same file back with the reason.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/deadline.h"
#include "cli/npz.h"
#include "cli/progress.h"
#include "cli/runtime_option.h"
#include "cli/shape_option.h"
#include "onnx/model.h"
#include "pipeline/optimize.h"
#include "propose/list.h"
#include "runtime/feeds.h"

namespace isomer::cli {
namespace {

namespace fs = std::filesystem;

struct Request {
  fs::path in, out, certificate, feeds;
  std::string budget = "5m", judge = "runtime", strategy = "greedy";
  std::vector<std::string> shapes, without;
  std::int64_t steps = 1 << 30;
  double max_error_growth = 2, max_size_growth = 1.1;
  std::uint64_t seed = 1;
  bool quiet = false;
  RuntimeRequest runtime;
};

std::atomic<bool> interrupted{false};

// The first Ctrl-C keeps the best so far; the second one ends it all.
void on_interrupt(int signal) {
  if (interrupted.exchange(true)) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

// In operations of a matrix product.
Json prices_of(const Prices& p) {
  return {{"node", p.node},           {"element", p.element},
          {"function", p.function},   {"convolution", p.convolution},
          {"unblocked", p.unblocked}, {"depthwise", p.depthwise},
          {"reordered", p.reordered}};
}

Json to_json(const OptimizeReport& report) {
  const auto maybe = [](const std::optional<double>& v) { return v ? Json(*v) : Json(); };
  Json steps = Json::array();
  for (const auto& s : report.steps)
    steps.push_back({{"kind", s.kind}, {"count", s.count}, {"nodes", s.nodes}});
  Json advice = Json::array();
  for (const Advice& a : report.advice)
    advice.push_back({{"option", a.option}, {"value", a.value}, {"ratio", a.ratio}, {"why", a.why}});
  Json regions = Json::array();
  for (const auto& r : report.search.regions)
    regions.push_back({{"what", r.what},
                       {"first", r.first},
                       {"places", r.places},
                       {"ratio", r.ratio.estimate},
                       {"low", r.ratio.low},
                       {"high", r.ratio.high}});
  Json groups = Json::array();
  for (const auto& g : report.groups)
    groups.push_back(
        {{"what", g.what}, {"places", g.places}, {"ratio", g.ratio > 0 ? Json(g.ratio) : Json()}});
  return {{"result", report.improved ? "improved" : "unchanged"},
          {"reason", report.reason},
          {"ratio", report.ratio ? Json(report.ratio->estimate) : Json()},
          {"low", report.ratio ? Json(report.ratio->low) : Json()},
          {"high", report.ratio ? Json(report.ratio->high) : Json()},
          {"error_before", maybe(report.error_before)},
          {"error_after", maybe(report.error_after)},
          {"bytes_in", report.bytes_in},
          {"bytes_out", report.bytes_out},
          {"steps", steps},
          {"stopped_by", report.search.stopped_by},
          {"search",
           {{"regions", report.search.unique_regions},
            {"states", report.search.states},
            {"proofs", report.search.proofs},
            {"cache_hits", report.search.cache_hits},
            {"cost_before", report.search.cost_before},
            {"cost_after", report.search.cost_after},
            {"questions", report.search.questions},
            {"prices", prices_of(report.search.prices)}}},
          {"certificate", report.certificate.string()},
          {"advice", advice},
          {"groups", groups},
          {"regions", regions},
          {"told", report.told},
          {"refused", report.search.refused},
          {"declined", report.search.declined}};
}

std::string to_text(const OptimizeReport& report, const fs::path& out) {
  std::string text;
  if (report.improved) {
    text += report.ratio
                ? fmt::format("{}: {:.2f} times faster [{:.2f}, {:.2f}], proved equal\n", out.string(),
                              report.ratio->estimate, report.ratio->low, report.ratio->high)
                : fmt::format("{}: rewritten and proved equal, not measured\n", out.string());
    for (const auto& g : report.groups)
      text += fmt::format("  {:>4} x {}{}\n", g.places, g.what,
                          g.ratio > 0 ? fmt::format(", {:.2f} times faster in its place", g.ratio) : "");
    if (report.error_before && report.error_after)
      text += fmt::format("  error against float64: {:.1e} before, {:.1e} after\n", *report.error_before,
                          *report.error_after);
    text += fmt::format("  certificate: {}\n", report.certificate.string());
  } else {
    text += fmt::format("{}: the same file, because {}\n", out.string(), report.reason);
    for (const auto& r : report.search.regions)
      text += fmt::format("  tried: {} x {}, {:.3f} [{:.3f}, {:.3f}] in its place\n", r.places, r.what,
                          r.ratio.estimate, r.ratio.low, r.ratio.high);
  }
  for (const Advice& a : report.advice)
    text += fmt::format("  advice: with {}={} the original is {:.2f} times faster: {}\n", a.option, a.value,
                        a.ratio, a.why);
  if (report.search.stopped_by != "done") text += fmt::format("  stopped by {}\n", report.search.stopped_by);
  text += fmt::format("  {} unique regions, {} states, {} proofs and {} that were known\n",
                      report.search.unique_regions, report.search.states, report.search.proofs,
                      report.search.cache_hits);
  return text;
}

Result<Reply> run(const Request& request) {
  OptimizeRequest wish;
  wish.in = request.in;
  wish.out = request.out;
  wish.certificate =
      request.certificate.empty() ? fs::path(request.out.string() + ".cert") : request.certificate;
  ISOMER_TRY(wish.search.seconds, seconds_of(request.budget));
  // "any", for tests of the proposers, takes what the cost does not like, too.
  if (request.judge != "runtime" && request.judge != "cost" && request.judge != "any")
    return Error{"--judge is runtime or cost"};
  wish.measure = request.judge == "runtime";
  wish.search.any_price = request.judge == "any";
  wish.search.steps = request.steps;
  ISOMER_TRY(wish.search.strategy, parse_strategy(request.strategy));
  for (const std::string& name : request.without) {
    const auto is_named = [&](const Proposer& p) { return p.name == name; };
    if (std::ranges::none_of(proposers(), is_named))
      return Error{fmt::format("--without {}: no proposer has this name", name)};
    wish.search.without.insert(name);
  }
  wish.search.max_error_growth = request.max_error_growth;
  wish.max_size_growth = request.max_size_growth;
  wish.search.seed = request.seed;
  ISOMER_TRY(wish.runtime, runtime_options(request.runtime));
  wish.worker = worker_options(request.runtime, request.runtime.runtimes.at(0));
  ISOMER_TRY(const Model model, read_model(request.in));
  if (!request.feeds.empty()) {
    ISOMER_TRY(wish.feeds, read_npz(request.feeds));
  } else if (wish.measure) {
    ISOMER_TRY(const InferOptions options, parse_shapes(request.shapes, model.graph));
    ISOMER_TRY(GeneratedFeeds feeds, generate_feeds(model.graph, options, request.seed));
    wish.feeds = std::move(feeds.tensors);
  }
  interrupted = false;
  wish.search.stop = &interrupted;
  ProgressLine line;
  if (!request.quiet) wish.search.progress = [&](const std::string& now) { line.show(now); };
  const auto old = std::signal(SIGINT, on_interrupt);
  auto report = optimize(std::move(wish), model);
  std::signal(SIGINT, old);
  if (!report.ok()) return report.error();
  return Reply{Exit::Done, to_text(*report, request.out), to_json(*report)};
}

}  // namespace

void add_optimize(CLI::App& app, Chosen& chosen) {
  auto request = std::make_shared<Request>();
  CLI::App* command =
      app.add_subcommand("optimize", "Make a model faster and prove that it computes the same");
  command->add_option("IN", request->in, "An ONNX file")->required();
  command->add_option("-o,--output", request->out, "Where the result goes")->required();
  command->add_option("--budget", request->budget, "Time to spend: 30s, 5m, 1h");
  command->add_option("--steps", request->steps, "Proposals to try, for repeatable runs");
  command->add_option("--judge", request->judge, "runtime (measure) or cost (analytic, measures nothing)");
  command->add_option("--strategy", request->strategy, "greedy, backtrack:ALPHA or beam:WIDTH");
  command->add_option("--without", request->without, "Proposers that are not asked: collapse,commute")
      ->delimiter(',')
      ->type_name("NAME,...");
  command->add_option("--certificate", request->certificate, "Where the proof goes; OUT.cert by default");
  command->add_option("--feeds", request->feeds, "Inputs for measuring, an npz file");
  add_shape_option(*command, request->shapes);
  command->add_option("--max-error-growth", request->max_error_growth,
                      "Rounding error against the original's");
  command->add_option("--max-size-growth", request->max_size_growth, "File size against the original's");
  command->add_option("--seed", request->seed, "Of inputs and of the field witness");
  command->add_flag("--quiet", request->quiet, "No progress");
  command->add_flag("--json", chosen.json, "Answer in JSON");
  add_runtime_options(*command, request->runtime);
  command->callback([&chosen, request] { chosen.run = [request] { return run(*request); }; });
}

}  // namespace isomer::cli
