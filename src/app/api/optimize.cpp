#include "app/optimize/optimize.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <sstream>

#include "app/api/compile/optimize_kernels.h"
#include "app/api/errors.h"
#include "app/api/model_state.h"
#include "app/api/report_json.h"
#include "app/api/stoppable_limit.h"
#include "app/inputs/size_sets.h"
#include "app/optimize/proposer_names.h"
#include "app/optimize/write_optimized.h"
#include "app/rules/user_rules.h"
#include "base/temporary_folder.h"
#include "io/onnx/write_file.h"
#include "model/ops/own_operators.h"
#include "optimizer/plans/store.h"
#include "runtime/judge/machine.h"

namespace isomer::api {
namespace {

static_assert(
    static_cast<int>(OptimizeReport::Result::Unchanged) == static_cast<int>(Optimized::Result::Unchanged) &&
    static_cast<int>(OptimizeReport::Result::Improved) == static_cast<int>(Optimized::Result::Improved) &&
    static_cast<int>(OptimizeReport::Result::Simplified) == static_cast<int>(Optimized::Result::Simplified));

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
  search.seed = options.seed;
  if (options.progress) search.progress = options.progress;
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

// A run of `optimize`. Its time begins with it.
class OptimizeRun {
 public:
  // `share`: of the time, for the search.
  explicit OptimizeRun(const OptimizeOptions& options, double share = 1)
      : options_(options), limit_(options.stop, share * checked_seconds(options.seconds)) {
    request_.seconds = share * checked_seconds(options.seconds);
    request_.search.limit = limit_.limit();
    request_.waits = !options.may_leave_thread;
    request_.measure = options.judge == Judge::Runtime;
    fill_search(options, request_);
    if (!options.rules.empty()) take_rules();
    const RuntimeRequest runtime = request_of(options.runtime);
    request_.runtime = take(runtime_options(runtime));
    request_.worker = worker_options(runtime, options.runtime.name);
  }

  // What was found for the model, which a runtime reads from this file.
  isomer::Optimized find(const Model::State& state, const std::filesystem::path& file,
                         const std::filesystem::path& scratch) {
    request_.in = file;
    request_.scratch = scratch;
    return take(isomer::optimize(std::move(request_), state.model));
  }

  // Inputs, and what is remembered; at these sizes, if any are made up.
  void prepare(const Model& model, const std::vector<std::string>& sizes) {
    const Model::State& state = model.state();
    request_.own_feeds =
        options_.feeds || !options_.feeds_file.empty() || !options_.sizes.empty() || !options_.values.empty();
    context_.machine = this_machine().cpu;
    context_.threads = options_.runtime.threads;
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

  // The same for a model of one size, which is given back: the sizes that are not given are those of the
  // inputs that were found.
  Model prepare_fixed(const OptimizeFiles& files) {
    prepare(load(files.in, {.sizes_from = files.sizes_from, .operators = files.operators}), options_.sizes);
    Model model = load(files.in, {.sizes = shapes_.empty() ? options_.sizes : shapes_,
                                  .assume_sizes = shapes_.empty(),
                                  .sizes_from = files.sizes_from,
                                  .operators = files.operators});
    context_.fixed = model.state().fixed;
    return model;
  }

  double spent() const { return limit_.spent(); }
  void set_kernels(const ReportJson& json) { context_.kernels = json.dump(); }

  // Of all inputs that the model leaves open: as they were given, else those of the inputs.
  std::vector<std::string> sizes(const Model& model) const {
    if (size_sets(options_.sizes).size() > 1) return options_.sizes;
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

  Optimized to_public(const Model& given, isomer::Optimized found) const {
    const OptimizeReport& report = found.report;
    const bool is_changed = report.result != OptimizeReport::Result::Unchanged;
    Optimized out{.result = static_cast<Optimized::Result>(report.result),
                  .reason = report.reason,
                  .model = given,
                  .certificate = std::move(found.certificate),
                  .ratio = {},
                  .leaves_thread = report.is_abandoned,
                  .json = json_text(to_json(report, context_))};
    if (report.ratio) out.ratio = Interval{report.ratio->estimate, report.ratio->low, report.ratio->high};
    // What was made is equal at the same sizes, and is no file.
    found.model.node_count = found.model.graph.operator_count();
    if (is_changed)
      out.model = Model(std::make_shared<Model::State>(
          Model::State{.model = std::move(found.model), .fixed = given.state().fixed}));
    return out;
  }

 private:
  FeedsForModels feeds_at(const Model& model, const std::vector<std::string>& sizes) const {
    return feeds_of(options_, {model}, sizes, std::min(kSecondsOfInputs, kShareOfInputs * request_.seconds));
  }

  void prepare_more(const Model& model, const std::vector<std::vector<std::string>>& sets) {
    if (options_.feeds || !options_.feeds_file.empty())
      throw Error(ErrorKind::BadInput, "inputs that are given have one size, and --shape says several");
    for (const std::vector<std::string>& set : sets) {
      request_.sizes.push_back(fmt::format("{}", fmt::join(set, " ")));
      if (&set == sets.data()) continue;
      FeedsForModels feeds = feeds_at(model, set);
      request_.more_feeds.push_back(std::move(feeds.tensors));
      context_.inputs += "; " + feeds.words;
    }
  }

  // What is said of a rule is said before the search.
  void take_rules() {
    UserRules rules = take(read_user_rules(options_.rules));
    request_.search.user_rules = std::move(rules.book);
    for (const Decided& d : rules.decided)
      if (const std::string words = remark(d); !words.empty() && options_.notice) options_.notice(words);
    context_.user_rules = std::move(rules.decided);
  }

  const OptimizeOptions& options_;
  StoppableLimit limit_;
  OptimizeRequest request_;
  OptimizeContext context_;
  NamedTensors request_feeds_;
  std::vector<std::string> shapes_;  // of inputs that were found; none: as given
};

// Of the time, for the search for a graph, where kernels are asked for.
constexpr double kShareOfGraph = 0.3;
// And of what is left then, for writing and all that was not foreseen.
constexpr double kShareOfKernels = 0.93;

// What code that was compiled for this machine may use; "": not known.
std::string processor_features() {
  std::ifstream info("/proc/cpuinfo");
  std::string line, out;
  while (std::getline(info, line) && !line.starts_with("flags")) line.clear();
  std::istringstream words(line.substr(std::min(line.size(), line.find(':') + 1)));
  constexpr std::array<std::string_view, 9> kUsed{"sse4", "ssse3", "popcnt", "avx",  "fma",
                                                  "f16c", "bmi",   "amx",    "movbe"};
  for (std::string word; words >> word;)
    if (std::ranges::any_of(kUsed, [&](std::string_view used) { return word.starts_with(used); }))
      out += (out.empty() ? "" : " ") + word;
  return out;
}

// What the graph search came to, with kernels if that is surely faster; `folder`: for files.
FoundKernels add_kernels(const OptimizeFiles& files, const OptimizeOptions& options, const OptimizeRun& run,
                         const Model& model, const std::filesystem::path& folder,
                         isomer::Optimized& optimized) {
  KernelSearch search{.model = model,
                      .sizes = run.sizes(model),
                      .options = options,
                      .compiler = files.compiler,
                      .folder = folder,
                      .out = files.out,
                      .seconds = kShareOfKernels * (options.seconds - run.spent())};
  if (optimized.report.result == OptimizeReport::Result::Improved) {
    search.found = run.to_public(model, optimized).model;
    search.certificate = optimized.certificate;
    search.is_for_runtime = std::ranges::any_of(optimized.report.steps, [](const auto& step) {
      return step.kind == "fastpath" || step.kind == "bilinear";
    });
    if (optimized.report.ratio) search.ratio = optimized.report.ratio->estimate;
  }
  FoundKernels found;
  if (options.stop.stop_requested()) found.reason = "Ctrl-C came before kernels were made";
  else found = find_kernels(search);
  found.json["is_taken"] = found.is_taken;
  found.json["reason"] = found.reason;
  if (!found.is_taken) return found;
  OptimizeReport& report = optimized.report;
  report.result = OptimizeReport::Result::Improved;
  report.reason.clear();
  report.ratio = isomer::Interval{found.ratio->estimate, found.ratio->low, found.ratio->high};
  report.sizes.clear();
  report.before.reset();
  report.after.reset();
  if (found.time) {
    report.before = RunCost{found.time->a_wall_ns, {}};
    report.after = RunCost{found.time->b_wall_ns, {}};
  }
  report.error_before.reset();
  report.error_after.reset();
  if (found.errors) {
    report.error_before = found.errors->runtime;
    report.error_after = found.errors->module;
  }
  optimized.certificate = found.certificate;
  return found;
}

void check_report_place(const std::filesystem::path& report, const OptimizedFiles& places) {
  if (report.empty()) return;
  take(wire::check_target(report, {}));
  for (const std::filesystem::path& other : {places.in, places.out, places.certificate})
    if (std::filesystem::weakly_canonical(report) == std::filesystem::weakly_canonical(other))
      throw Error(ErrorKind::BadInput, fmt::format("{} can't be the report, too", other.string()));
}

// The page about a run whose model and certificate are written.
void write_report(const OptimizeFiles& files, const OptimizeOptions& options, const OptimizedFiles& places,
                  const Model& model, const Optimized& found) {
  const ReportOptions wanted{
      .optimized = found.json,
      .certificate_file = places.certificate,
      .measure = options.judge == Judge::Runtime,
      .feeds = options.feeds,
      .feeds_file = options.feeds_file,
      .sizes = files.fix_sizes ? std::vector<std::string>{} : size_sets(options.sizes)[0],
      .values = options.values,
      .seed = options.seed,
      .runtime = options.runtime,
      .scratch = options.scratch.empty() ? files.out.parent_path() : options.scratch,
      .progress = options.progress,
      .stop = options.stop};
  save_text(report(model, load(files.out), found.certificate, wanted).html, files.report);
}

}  // namespace

std::vector<std::string> proposers() {
  return guarded([] { return proposer_names(); });
}

Optimized optimize(const Model& model, const OptimizeOptions& options) {
  return guarded([&] {
    OptimizeRun run(options);
    const Model::State& state = model.state();
    run.prepare(model, options.sizes);
    const RunnableFile in(state, options.scratch);
    return run.to_public(model, run.find(state, in.path(), scratch_name(options.scratch)));
  });
}

Optimized optimize_file(const OptimizeFiles& files, const OptimizeOptions& options) {
  return guarded([&] {
    if (files.kernels) check_kernel_options(files, options);
    OptimizeRun run(options, files.kernels ? kShareOfGraph : 1);
    OptimizedFiles places{.in = files.in, .out = files.out, .certificate = files.certificate};
    if (places.certificate.empty()) places.certificate = files.out.string() + ".cert";
    places.writes_unchanged = files.fix_sizes;
    places.version = version();
    places.wants_kernels = files.kernels;
    if (files.fix_sizes && size_sets(options.sizes).size() > 1)
      throw Error(ErrorKind::BadInput, "a model is fixed to one size, and --shape says several");
    const Model model = files.fix_sizes
                            ? run.prepare_fixed(files)
                            : load(files.in, {.sizes_from = files.sizes_from, .operators = files.operators});
    if (!files.fix_sizes) run.prepare(model, options.sizes);
    take(check_places(places));
    check_report_place(files.report, places);
    isomer::Optimized found = run.find(model.state(), files.in,
                                       options.scratch.empty() ? files.out : scratch_name(options.scratch));
    std::optional<TemporaryFolder> folder;
    if (files.kernels) {
      constexpr std::string_view kPrefix = ".isomer-kernels";
      const std::filesystem::path parent = std::filesystem::absolute(files.out).parent_path();
      TemporaryFolder::remove_stale(parent, kPrefix);
      folder.emplace(parent, kPrefix);
      const FoundKernels kernels = add_kernels(files, options, run, model, folder->path(), found);
      ReportJson told = kernels.json;
      told["library"] = kernels.is_taken ? places.library().string() : "";
      told["weights"] = kernels.is_taken && !kernels.weights.empty() ? places.weights().string() : "";
      told["weight_bytes"] = kernels.is_taken && !kernels.weights.empty()
                                 ? std::filesystem::file_size(kernels.weights)
                                 : std::uintmax_t{0};
      run.set_kernels(told);
      if (kernels.is_taken)
        places.kernels = KernelFiles{kernels.model, kernels.library, kernels.weights, processor_features()};
    }
    OptimizeReport& report = found.report;
    const bool is_wanted = report.result == OptimizeReport::Result::Improved || !files.require_gain;
    if (is_wanted) take(write_optimized(places, found));
    else report.bytes_out = report.bytes_in;
    if (report.is_abandoned) wire::remove_own_outputs(files.out.parent_path());
    report.seconds = run.spent();
    Optimized out = run.to_public(model, std::move(found));
    if (places.kernels) out.model = load(files.out);
    if (is_wanted && !files.report.empty()) write_report(files, options, places, model, out);
    return out;
  });
}

}  // namespace isomer::api
