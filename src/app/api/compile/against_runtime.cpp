#include "app/api/compile/against_runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/api/compile/exact_in_time.h"
#include "app/api/compile/nudged_model.h"
#include "app/api/errors.h"
#include "app/api/model_state.h"
#include "app/api/stoppable_limit.h"
#include "app/api/stopwatch.h"
#include "runtime/judge/errors.h"
#include "runtime/judge/judge.h"

namespace isomer::api {
namespace {

// Limit for float64: one or two minutes, if nothing else ends it. The largest model of the zoo takes a third.
constexpr double kMostOperations = 3e11;
// One input says little of a model whose errors are large here and small there; where more of them take
// seconds, there are more.
constexpr std::uint64_t kDraws = 4;
constexpr double kMostOfMore = 5e9;
// Limits for float64, all draws together: seconds, and a share of the budget.
constexpr double kExactSeconds = 30, kShareOfExact = 0.1;
constexpr double kLargeGain = 1.5;  // few samples are enough for it
// Relative to the largest value: larger than the effect of rounding on a model that amplifies it, and of
// weights with eight bits of precision on a deep one; smaller than the effect of a fault.
constexpr double kMostByRounding = 0.01, kMostInBfloat16 = 0.2;
// The number of models with other last digits, which show how far apart outputs may be; and the factor by
// which ours may differ more, since they are another draw.
constexpr std::uint64_t kNudges = 3;
constexpr double kBeyondSensitivity = 2;

}  // namespace

AgainstRuntime::AgainstRuntime(const Model& model, const CompileOptions& options,
                               std::filesystem::path scratch, std::shared_ptr<KnownOutputs> known)
    : model_(model),
      options_(options),
      runtime_(options.run.runtime),
      scratch_(std::move(scratch)),
      sizes_(options.inputs.sizes),
      compared_{options.inputs.sizes},
      known_(std::move(known)) {
  runtime_.threads = options.threads;  // as the module has
}

// The value of --shape for an input; "": it has no open size.
static std::string shape_at(const lower::Port& port, const Dims& shape, const Dim::Substitution& sizes) {
  if (is_concrete(shape)) return "";
  std::string words;
  for (const Dim& extent : shape)
    words += fmt::format("{}{}", words.empty() ? "" : "x", extent.substitute(sizes).concrete());
  return fmt::format("{}={}", port.name, words);
}

void AgainstRuntime::take_sizes(const lower::Plan& plan) {
  if (has_feeds(options_.inputs) || sizes_.size() > options_.inputs.sizes.size()) return;
  if (!plan.batch.empty()) {
    for (const lower::Port& p : plan.inputs) {
      if (!p.by_sample) continue;
      Dims shape = plan.buffer(p.buffer).extents;
      shape.front() = Dim::symbol(plan.batch);
      sizes_.push_back(shape_at(p, shape, [](std::string_view) { return Dim(1); }));
      compared_.front().push_back(shape_at(p, shape, [](std::string_view) { return Dim(3); }));
    }
    return;
  }
  if (plan.sizes.is_empty()) return;
  constexpr std::array<std::int64_t, 3> kOdd{3, 37, 19};
  const auto usual = [&](std::string_view name) { return Dim(plan.sizes.usual(Dim::symbol(name))); };
  const auto odd = [&](std::string_view name) {
    const auto at = std::ranges::find(plan.sizes.open, name, &lower::OpenSize::name);
    const auto k = static_cast<std::size_t>(at - plan.sizes.open.begin()) % kOdd.size();
    return Dim(std::clamp(kOdd[k], at->least, std::max(at->least, at->most.value_or(INT64_MAX))));
  };
  const auto least = [&](std::string_view name) {
    return Dim(std::ranges::find(plan.sizes.open, name, &lower::OpenSize::name)->least);
  };
  compared_.assign(3, options_.inputs.sizes);
  for (const lower::Port& p : plan.inputs) {
    Dims shape = plan.buffer(p.buffer).extents;
    if (p.by_sample) shape.front() = Dim::symbol(plan.sizes.batch);
    if (is_concrete(shape)) continue;
    sizes_.push_back(shape_at(p, shape, usual));
    compared_[0].push_back(sizes_.back());
    compared_[1].push_back(shape_at(p, shape, odd));
    compared_[2].push_back(shape_at(p, shape, least));
  }
}

RuntimeOptions AgainstRuntime::with(const std::filesystem::path& library) const {
  RuntimeOptions out = runtime_;
  if (!library.empty()) out.custom_op_libraries.push_back(std::filesystem::absolute(library));
  return out;
}

Run AgainstRuntime::run_with(const std::filesystem::path& library) const {
  Run out = options_.run;
  out.runtime = with(library);
  return out;
}

Inputs AgainstRuntime::inputs_at(const std::vector<std::string>& sizes) const {
  Inputs out = options_.inputs;
  out.sizes = sizes;
  return out;
}

NamedTensors AgainstRuntime::drawn_inputs(std::uint64_t seed) const {
  Inputs inputs = inputs_at(sizes_);
  inputs.seed = seed;
  return feeds_of(inputs, {.runtime = runtime_, .stop = options_.run.stop}, {model_}).tensors;
}

void AgainstRuntime::try_model() const {
  (void)run(model_, to_public(drawn_inputs(0)),
            {.engine = Engine::Runtime, .runtime = runtime_, .stop = options_.run.stop});
}

Comparison AgainstRuntime::compared_with(const Model& other, const std::filesystem::path& library) const {
  std::optional<Comparison> out;
  for (const std::vector<std::string>& sizes : compared_) {
    Comparison now =
        compare(model_, other, {.outputs_only = true, .inputs = inputs_at(sizes), .run = run_with(library)});
    if (!out) {
      out = std::move(now);
      continue;
    }
    out->differ = out->differ || now.differ;
    for (std::size_t k = 0; k < std::min(out->outputs.size(), now.outputs.size()); ++k) {
      Comparison::Output& worst = out->outputs[k];
      const bool is_worse = worst.misfit.empty() &&
                            (!now.outputs[k].misfit.empty() || now.outputs[k].of_scale > worst.of_scale);
      if (is_worse) worst = now.outputs[k];
    }
  }
  return std::move(*out);
}

double AgainstRuntime::sensitivity() {
  if (sensitivity_) return *sensitivity_;
  if (options_.run.progress) options_.run.progress("measuring the effect of last digits on the outputs");
  double worst = 0;
  for (std::uint64_t seed = 1; seed <= kNudges; ++seed)
    for (const auto& o : compared_with(with_nudged_constants(model_, seed), {}).outputs)
      if (o.misfit.empty()) worst = std::max(worst, o.of_scale);
  sensitivity_ = worst;
  return worst;
}

std::string AgainstRuntime::difference(const Model& as_operator, const std::filesystem::path& library) {
  note_.clear();
  const Comparison compared = compared_with(as_operator, library);
  if (!compared.differ) return "";
  const bool in_bfloat16 = options_.sums == kBfloat16;
  bool fits = true;
  double& farthest = farthest_ = 0;
  std::string where;
  for (const Comparison::Output& o : compared.outputs) {
    fits = fits && o.misfit.empty();
    farthest = std::max(farthest, o.of_scale);
    where +=
        fmt::format("{}{}: {}", where.empty() ? "" : "; ", o.a,
                    o.misfit.empty() ? fmt::format("{:.1e} of the largest value", o.of_scale) : o.misfit);
  }
  if (!fits) refuse(where);
  if (farthest <= (in_bfloat16 ? kMostInBfloat16 : kMostByRounding)) return in_bfloat16 ? "" : where;
  explain_difference(as_operator, library, where);
  return "";
}

void AgainstRuntime::explain_difference(const Model& as_operator, const std::filesystem::path& library,
                                        const std::string& where) {
  const std::string much =
      fmt::format("outputs differ from ONNX Runtime's by up to {:.2g} of the largest value", farthest_);
  if (farthest_ <= kBeyondSensitivity * sensitivity()) {
    note_ = fmt::format(
        "{}, because values next to a step (of a quantizer, a comparison, a rounding) fall on its other "
        "side; ONNX Runtime itself changes by up to {:.2g} if the last digits of constants change",
        much, sensitivity());
    return;
  }
  // Its kernels are approximations, too: a sigmoid that is nearly 0 is far from right, of its own size.
  const auto exact = errors(as_operator, library);
  if (!exact || !exact->kept) refuse(where);
  note_ = fmt::format("{}; compared with float64, ONNX Runtime's differ by {:.2g}, the kernels' by {:.2g}",
                      much, exact->runtime, exact->module);
}

void AgainstRuntime::refuse(const std::string& difference) {
  throw Differs(fmt::format("the compiled kernels' outputs are not ONNX Runtime's ({}): please report this",
                            difference));
}

void AgainstRuntime::need_usual_sensitivity(const std::string& difference) {
  constexpr double kAlways = 1e-6;  // as of errors against float64
  if (!(farthest_ <= std::max(kAlways, kBeyondSensitivity * sensitivity()))) refuse(difference);
}

const std::vector<KnownOutputs::Right>& AgainstRuntime::rights() {
  if (const auto known = known_->rights.find(sizes_); known != known_->rights.end()) return known->second;
  if (options_.run.progress) options_.run.progress("comparing with float64");
  std::vector<Right> found;
  const double most = std::min(kExactSeconds, kShareOfExact * options_.budget);
  const Stopwatch watch;
  for (std::uint64_t seed = 1; seed <= (has_feeds(options_.inputs) ? 1 : kDraws); ++seed)
    if (auto drawn = right(seed, most - watch.ms() / 1000)) found.push_back(std::move(*drawn));
    else break;  // what takes too long once does so again
  return known_->rights[sizes_] = std::move(found);
}

std::optional<Compiled::Errors> AgainstRuntime::errors(const Model& as_operator,
                                                       const std::filesystem::path& library) {
  const std::vector<Right>& all = rights();
  const auto errors_of = [&](double least) {
    std::optional<Compiled::Errors> worst;
    double most = -1;  // as a share of the limit
    for (const Right& right : all) {
      const isomer::Errors errors{std::max(right.runtime_error, least),
                                  error_of(as_operator, with(library), right)};
      const double share = errors.after / errors.allowed(options_.max_error_growth);
      if (share <= most) continue;
      most = share;
      worst = {errors.after, errors.before, errors.within(options_.max_error_growth)};
    }
    return worst;
  };
  auto worst = errors_of(0);
  // Where values jump, the runtime's error is one draw: it may have fallen on the right side of each step.
  if (worst && !worst->kept && has_jumps(model_.state().model.graph)) worst = errors_of(sensitivity());
  return worst;
}

std::optional<AgainstRuntime::Right> AgainstRuntime::right(std::uint64_t seed, double seconds) const {
  const Graph& graph = model_.state().model.graph;
  Right out{.feeds = to_public(drawn_inputs(seed))};
  auto exact = exact_outputs_within(
      graph, to_internal(out.feeds), seed == 1 ? kMostOperations : kMostOfMore, seconds,
      [&] { return options_.run.stop.stop_requested(); }, scratch_ / "exact.npz");
  if (!exact) return std::nullopt;
  out.exact = std::move(*exact);
  out.runtime_error = error_of(model_, runtime_, out);
  return out;
}

// Outputs that are not comparable, as those of other types, are as far as can be.
double AgainstRuntime::error_of(const Model& model, const RuntimeOptions& runtime, const Right& right) const {
  const Tensors outputs =
      run(model, right.feeds, {.engine = Engine::Runtime, .runtime = runtime, .stop = options_.run.stop});
  return isomer::error_of(to_internal(outputs), right.exact).value_or(HUGE_VAL);
}

Interval AgainstRuntime::ratio(const Model& as_operator, const std::filesystem::path& library, double seconds,
                               bool confirms) const {
  return to_public(measured(as_operator, library, seconds, confirms).ratio);
}

PairMeasurement AgainstRuntime::measured(const Model& as_operator, const std::filesystem::path& library,
                                         double seconds, bool confirms) const {
  const StoppableLimit limit(options_.run.stop);
  const RuntimeOptions both = with(library);
  const RuntimeRequest request = request_of(both);
  WorkerOptions worker = worker_options(request, both.name);
  worker.limit = limit.limit();
  const auto judge = limit.take(isomer::Judge::start(worker));
  const RunnableFile theirs(model_.state(), options_.run.scratch),
      ours(as_operator.state(), options_.run.scratch);
  const SharedFeeds feeds = limit.take(SharedFeeds::make(drawn_inputs(0)));
  const MeasureOptions how{.runtime = api::take(runtime_options(request)),
                           .seconds = checked_seconds(seconds),
                           .confirm = confirms,
                           .beyond = options_.min_gain,
                           .large = kLargeGain};
  const auto progress = [&](const MeasureProgress& now) {
    if (!options_.run.progress) return;
    std::string line = fmt::format("measuring, round {}, {:.0f} %", now.rounds, 100 * now.share);
    if (now.ratio)
      line += fmt::format(", {:.3f} [{:.3f}, {:.3f}]", now.ratio->estimate, now.ratio->low, now.ratio->high);
    options_.run.progress(line);
  };
  return limit.take(judge->measure_pair(theirs.source(), ours.source(), feeds, how, progress));
}

}  // namespace isomer::api
