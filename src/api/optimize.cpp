#include "pipeline/optimize.h"

#include <atomic>
#include <memory>

#include "api/errors.h"
#include "api/model_state.h"
#include "api/report_json.h"
#include "pipeline/model_feeds.h"
#include "pipeline/proposer_names.h"
#include "runtime/machine.h"

namespace isomer::api {
namespace {

// A limit with the flag that it looks at.
struct StoppableLimit {
  explicit StoppableLimit(double seconds) : limit(seconds, &is_stopped) {}
  std::atomic<bool> is_stopped{false};
  TimeLimit limit;
};

void fill_search(const OptimizeOptions& options, OptimizeRequest& request) {
  SearchOptions& search = request.search;
  search.strategy = take(parse_strategy(options.strategy));
  search.without = take(proposers_named(options.without));
  if (options.steps < 0) throw Error(ErrorKind::BadInput, "steps can't be negative");
  if (options.steps > 0) search.steps = options.steps;
  if (!(options.max_error_growth > 0))
    throw Error(ErrorKind::BadInput, "max_error_growth must be more than 0");
  search.max_error_growth = options.max_error_growth;
  search.seed = options.seed;
  if (options.progress) search.progress = [&options](const std::string& now) { options.progress(now); };
  if (options.on_best) request.on_best = options.on_best;
  if (!(options.min_gain >= 1)) throw Error(ErrorKind::BadInput, "min_gain must be 1 or more");
  request.min_gain = options.min_gain;
  if (options.max_size_growth && !(*options.max_size_growth > 0))
    throw Error(ErrorKind::BadInput, "max_size_growth must be more than 0");
  request.max_size_growth = options.max_size_growth;
  request.simplify = options.simplify;
}

Optimized to_public(const Model& given, isomer::Optimized found, const OptimizeContext& context) {
  const OptimizeReport& report = found.report;
  const bool is_changed = report.result != OptimizeReport::Result::Unchanged;
  Optimized out{.result = static_cast<Optimized::Result>(report.result),
                .reason = report.reason,
                .model = given,
                .certificate = std::move(found.certificate),
                .ratio = {},
                .json = json_text(to_json(report, context))};
  if (report.ratio) out.ratio = Interval{report.ratio->estimate, report.ratio->low, report.ratio->high};
  // What was made is equal at the same sizes, and is no file.
  found.model.node_count = found.model.graph.operator_count();
  if (is_changed)
    out.model = Model(std::make_shared<Model::State>(
        Model::State{.model = std::move(found.model), .fixed = given.state().fixed}));
  return out;
}

static_assert(
    static_cast<int>(OptimizeReport::Result::Unchanged) == static_cast<int>(Optimized::Result::Unchanged) &&
    static_cast<int>(OptimizeReport::Result::Improved) == static_cast<int>(Optimized::Result::Improved) &&
    static_cast<int>(OptimizeReport::Result::Simplified) == static_cast<int>(Optimized::Result::Simplified));

}  // namespace

Optimized optimize(const Model& model, const OptimizeOptions& options) {
  return guarded([&] {
    OptimizeRequest request;
    request.seconds = checked_seconds(options.seconds);
    const auto limit = std::make_shared<StoppableLimit>(request.seconds);
    const std::stop_callback on_stop(options.stop, [&] { limit->is_stopped = true; });
    request.search.limit = std::shared_ptr<TimeLimit>(limit, &limit->limit);
    request.waits = true;
    request.measure = options.judge == Judge::Runtime;
    fill_search(options, request);
    const RuntimeRequest runtime = request_of(options.runtime);
    request.runtime = take(runtime_options(runtime));
    request.worker = worker_options(runtime, options.runtime.name);
    const Model::State& state = model.state();
    request.own_feeds = options.feeds || !options.sizes.empty();
    OptimizeContext context{.machine = this_machine().cpu,
                            .threads = options.runtime.threads,
                            .min_gain = options.min_gain,
                            .fixed = state.fixed};
    if (request.measure || request.own_feeds) {
      std::optional<NamedTensors> given;
      if (options.feeds) given = to_internal(*options.feeds);
      FeedsForModels feeds = take(feeds_for({&state.model.graph}, given, options.sizes, options.seed));
      request.feeds = std::move(feeds.tensors);
      context.inputs = std::move(feeds.words);
    }
    if (request.measure && !options.cache.empty())
      request.search.cache = TimingCache::open(options.cache.string());
    const RunnableFile in(state, options.scratch);
    request.in = in.path();
    request.scratch = scratch_name(options.scratch);
    return to_public(model, take(isomer::optimize(std::move(request), state.model)), context);
  });
}

}  // namespace isomer::api
