#include "app/api/optimize_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>

#include "app/api/errors.h"
#include "app/inputs/size_sets.h"
#include "app/optimize/proposer_names.h"
#include "app/rules/user_rules.h"
#include "model/ops/own_operators.h"
#include "optimizer/plans/store.h"
#include "runtime/judge/judge.h"
#include "runtime/judge/machine.h"

namespace isomer::api {
namespace {

static_assert(
    static_cast<int>(OptimizeReport::Result::Unchanged) == static_cast<int>(Optimized::Result::Unchanged) &&
    static_cast<int>(OptimizeReport::Result::Improved) == static_cast<int>(Optimized::Result::Improved) &&
    static_cast<int>(OptimizeReport::Result::Simplified) == static_cast<int>(Optimized::Result::Simplified));
static_assert(static_cast<int>(StoppedBy::Done) == static_cast<int>(Optimized::StoppedBy::Done) &&
              static_cast<int>(StoppedBy::Budget) == static_cast<int>(Optimized::StoppedBy::Budget) &&
              static_cast<int>(StoppedBy::Interrupt) == static_cast<int>(Optimized::StoppedBy::Interrupt));

void fill_search(const OptimizeOptions& options, OptimizeRequest& request) {
  SearchOptions& search = request.search;
  search.strategy = take(parse_strategy(options.strategy));
  search.without = take(left_out_proposers(options.without, options.only));
  search.any_price = options.judge == Judge::Any;
  search.fewer_nodes = options.judge == Judge::Nodes;
  if (options.steps < 0) throw Error(ErrorKind::BadInput, "steps can't be negative");
  if (options.steps > 0) search.steps = options.steps;
  if (!(options.max_error_growth > 0))
    throw Error(ErrorKind::BadInput, "max_error_growth must be more than 0");
  search.max_error_growth = options.max_error_growth;
  search.seed = options.inputs.seed;
  if (options.run.progress) search.progress = options.run.progress;
  if (options.on_best) request.on_best = options.on_best;
  if (!(options.min_gain >= 1)) throw Error(ErrorKind::BadInput, "min_gain must be 1 or more");
  request.min_gain = options.min_gain;
  if (options.max_size_growth && !(*options.max_size_growth > 0))
    throw Error(ErrorKind::BadInput, "max_size_growth must be more than 0");
  request.max_size_growth = options.max_size_growth;
  request.simplify = options.simplify;
  if (!options.plans.empty())
    search.plans = {.store = std::make_shared<PlanStore>(options.plans),
                    .by = fmt::format("isomer {}", version())};
}

std::shared_ptr<TimingCache> cache_of(const OptimizeOptions& options) {
  if (options.cache.empty()) return nullptr;
  std::shared_ptr<TimingCache> cache = TimingCache::open(options.cache.string());
  if (options.cache_mebibytes > 0)
    cache->shrink_to(static_cast<std::uint64_t>(options.cache_mebibytes * 0x1p20));
  return cache;
}

constexpr double kShareOfInputs = 0.25;  // of the time, to look for inputs that run

}  // namespace

OptimizeOptions options_of_part(OptimizeOptions options, std::vector<std::string> sizes, double seconds) {
  options.inputs.sizes = std::move(sizes);
  options.seconds = seconds;
  options.plans.clear();
  options.may_leave_thread = false;
  options.on_best = {};
  return options;
}

OptimizeRun::OptimizeRun(const OptimizeOptions& options)
    : options_(options), limit_(options.run.stop, checked_seconds(options.seconds)) {
  request_.seconds = checked_seconds(options.seconds);
  request_.search.limit = limit_.limit();
  request_.waits = !options.may_leave_thread;
  request_.measure = options.judge == Judge::Runtime;
  fill_search(options, request_);
  if (!options.rules.empty()) take_rules();
  const RuntimeRequest runtime = request_of(options.run.runtime);
  request_.runtime = take(runtime_options(runtime));
  request_.worker = worker_options(runtime, options.run.runtime.name);
}

void OptimizeRun::end_graph_at(double seconds) {
  request_.seconds = std::min(seconds, checked_seconds(options_.seconds));
  limit_.limit()->end_at(request_.seconds);
}

isomer::Optimized OptimizeRun::find(const Model::State& state, const std::filesystem::path& file,
                                    const std::filesystem::path& scratch) {
  request_.in = file;
  request_.scratch = scratch;
  return take(isomer::optimize(std::move(request_), state.model));
}

void OptimizeRun::set_kernels(const ReportJson& json) { context_.kernels = json.dump(); }

isomer::Optimized OptimizeRun::keep(const Model::State& state, const std::filesystem::path& file) {
  request_.in = file;
  isomer::Optimized out = unsearched(request_, state.model);
  if (const auto judge = isomer::Judge::start(request_.worker); judge.ok()) {
    out.report.runtime = (*judge)->runtime();
    out.report.runtime_version = (*judge)->version();
  }
  return out;
}

void OptimizeRun::prepare(const Model& model, const std::vector<std::string>& sizes) {
  const Model::State& state = model.state();
  request_.own_feeds =
      has_feeds(options_.inputs) || !options_.inputs.sizes.empty() || !options_.inputs.values.empty();
  context_.machine = this_machine().cpu;
  context_.threads = options_.run.runtime.threads;
  context_.min_gain = options_.min_gain;
  context_.fixed = state.fixed;
  if (const auto& own = state.model.graph.opsets.own) context_.assumed = own->texts();
  if (request_.measure || request_.own_feeds) {
    const auto sets = size_sets(sizes);
    FeedsForModels feeds = feeds_at(model, sets[0]);
    if (feeds.is_open) shapes_ = feeds.shapes();
    request_feeds_ = feeds.tensors;
    request_.feeds = std::move(feeds.tensors);
    context_.inputs = std::move(feeds.words);
    if (sets.size() > 1) prepare_more(model, sets);
  }
  if (request_.measure) context_.cache = request_.search.cache = cache_of(options_);
}

Model OptimizeRun::prepare_fixed(const OptimizeFiles& files) {
  prepare(load(files.in, {.sizes_from = files.sizes_from, .operators = files.operators}),
          options_.inputs.sizes);
  Model model = load(files.in, {.sizes = shapes_.empty() ? options_.inputs.sizes : shapes_,
                                .assume_sizes = shapes_.empty(),
                                .sizes_from = files.sizes_from,
                                .operators = files.operators});
  context_.fixed = model.state().fixed;
  return model;
}

std::vector<std::string> OptimizeRun::sizes(const Model& model) const {
  if (size_sets(options_.inputs.sizes).size() > 1) return options_.inputs.sizes;
  const isomer::Graph& graph = model.state().model.graph;
  const Inference inference = take(infer(graph));
  std::vector<std::string> out;
  for (const Value& input : graph.inputs()) {
    const auto feed = request_feeds_.find(graph.name_of(input));
    if (feed != request_feeds_.end() && !concrete_shape(inference.of(input)))
      out.push_back(fmt::format("{}={}", graph.name_of(input), fmt::join(feed->second.extents(), "x")));
  }
  return out;
}

namespace {

Optimized::Side side_of(const std::optional<RunCost>& cost, const std::optional<double>& error,
                        std::uint64_t nodes, std::uint64_t bytes) {
  Optimized::Side out{.nodes = nodes, .bytes = bytes, .error = error};
  if (cost) {
    out.latency_ns = to_public(cost->latency_ns);
    out.peak_bytes = cost->peak_bytes;
  }
  return out;
}

void fill(const OptimizeReport& report, Optimized& out) {
  if (report.ratio) out.ratio = to_public(*report.ratio);
  for (const OptimizeReport::AtSize& at : report.sizes) out.sizes.push_back({at.size, to_public(at.ratio)});
  out.before = side_of(report.before, report.error_before, report.nodes_in, report.bytes_in);
  out.after = side_of(report.after, report.error_after, report.nodes_out, report.bytes_out);
  for (const OptimizeReport::Group& g : report.groups)
    out.changes.push_back({.kind = g.change.kind,
                           .words = describe(g.change),
                           .places = g.places,
                           .fewer_nodes = g.fewer,
                           .ratio = g.ratio > 0 ? std::optional(g.ratio) : std::nullopt});
  out.flushed = report.flushed.numbers;
  for (const Advice& a : report.advice) out.advice.push_back({a.option, a.value, a.why, to_public(a.ratio)});
  out.stopped_by = static_cast<Optimized::StoppedBy>(report.search.stopped_by);
  out.seconds = report.seconds;
}

}  // namespace

Optimized OptimizeRun::to_public(const Model& given, isomer::Optimized found) const {
  const OptimizeReport& report = found.report;
  const bool is_changed = report.result != OptimizeReport::Result::Unchanged;
  Optimized out{.result = static_cast<Optimized::Result>(report.result),
                .reason = report.reason,
                .model = given,
                .certificate = std::move(found.certificate),
                .leaves_thread = report.is_abandoned,
                .json = json_text(to_json(report, context_))};
  fill(report, out);
  // The new model is equal at the same sizes, and is no file.
  found.model.node_count = found.model.graph.operator_count();
  if (is_changed)
    out.model = Model(std::make_shared<Model::State>(
        Model::State{.model = std::move(found.model), .fixed = given.state().fixed}));
  return out;
}

FeedsForModels OptimizeRun::feeds_at(const Model& model, const std::vector<std::string>& sizes) const {
  Inputs inputs = options_.inputs;
  inputs.sizes = sizes;
  return feeds_of(inputs, options_.run, {model},
                  std::min(kSecondsOfInputs, kShareOfInputs * request_.seconds));
}

void OptimizeRun::prepare_more(const Model& model, const std::vector<std::vector<std::string>>& sets) {
  if (has_feeds(options_.inputs))
    throw Error(ErrorKind::BadInput, "inputs that are given have one size, and --shape says several");
  for (const std::vector<std::string>& set : sets) {
    request_.sizes.push_back(fmt::format("{}", fmt::join(set, " ")));
    if (&set == sets.data()) continue;
    FeedsForModels feeds = feeds_at(model, set);
    request_.more_feeds.push_back(std::move(feeds.tensors));
    context_.inputs += "; " + feeds.words;
  }
}

// Messages about a rule come before the search.
void OptimizeRun::take_rules() {
  UserRules rules = take(read_user_rules(options_.rules));
  request_.search.user_rules = std::move(rules.book);
  for (const Decided& d : rules.decided)
    if (const std::string words = remark(d); !words.empty() && options_.notice) options_.notice(words);
  context_.user_rules = std::move(rules.decided);
}

}  // namespace isomer::api
