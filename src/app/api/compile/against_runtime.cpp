#include "app/api/compile/against_runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/api/errors.h"
#include "app/api/model_state.h"
#include "runtime/judge/errors.h"

namespace isomer::api {
namespace {

// Of float64: one or two minutes. The largest model of the zoo takes a third.
constexpr double kMostOperations = 3e11;
// One input says little of a model whose errors are large here and small there; where more of them take
// seconds, there are more.
constexpr std::uint64_t kDraws = 4;
constexpr double kMostOfMore = 5e9;
// Of the largest value: what rounding does to a model that makes it large, and what weights of eight bits'
// precision do to a deep one, is less; what a fault does is more.
constexpr double kMostByRounding = 0.01, kMostInBfloat16 = 0.2;

}  // namespace

AgainstRuntime::AgainstRuntime(const Model& model, const CompileOptions& options)
    : model_(model),
      options_(options),
      runtime_(options.runtime),
      sizes_(options.sizes),
      several_(options.sizes) {
  runtime_.threads = options.threads;  // as the module has
}

void AgainstRuntime::take_batches(const lower::Plan& plan) {
  if (plan.batch.empty() || has_feeds() || sizes_.size() > options_.sizes.size()) return;
  for (const lower::Port& p : plan.inputs) {
    if (!p.by_sample) continue;
    const auto& extents = plan.buffer(p.buffer).extents;
    const std::string rest =
        extents.size() == 1 ? "" : fmt::format("x{}", fmt::join(extents.begin() + 1, extents.end(), "x"));
    sizes_.push_back(fmt::format("{}=1{}", p.name, rest));
    several_.push_back(fmt::format("{}=3{}", p.name, rest));
  }
}

RuntimeOptions AgainstRuntime::with(const std::filesystem::path& library) const {
  RuntimeOptions out = runtime_;
  if (!library.empty()) out.custom_op_libraries.push_back(std::filesystem::absolute(library));
  return out;
}

std::string AgainstRuntime::difference(const Model& as_operator, const std::filesystem::path& library) const {
  const Comparison compared = compare(model_, as_operator,
                                      {.feeds = options_.feeds,
                                       .feeds_file = options_.feeds_file,
                                       .sizes = several_,
                                       .values = options_.values,
                                       .runtime = with(library),
                                       .scratch = options_.scratch,
                                       .progress = options_.progress,
                                       .stop = options_.stop});
  if (!compared.differ) return "";
  const bool in_bfloat16 = options_.sums == kBfloat16;
  bool is_near = true;
  std::string where;
  for (const Comparison::Output& o : compared.outputs) {
    is_near = is_near && o.misfit.empty() && o.of_scale <= (in_bfloat16 ? kMostInBfloat16 : kMostByRounding);
    where +=
        fmt::format("{}{}: {}", where.empty() ? "" : "; ", o.a,
                    o.misfit.empty() ? fmt::format("{:.1e} of the largest value", o.of_scale) : o.misfit);
  }
  if (!is_near) refuse(where);
  return in_bfloat16 ? "" : where;
}

void AgainstRuntime::refuse(const std::string& difference) {
  throw Error(
      ErrorKind::Internal,
      fmt::format("the compiled model's outputs are not the runtime's ({}): please report this", difference));
}

std::optional<Compiled::Errors> AgainstRuntime::errors(const Model& as_operator,
                                                       const std::filesystem::path& library) {
  if (!rights_) {
    if (options_.progress) options_.progress("comparing with float64");
    rights_.emplace();
    for (std::uint64_t seed = 1; seed <= (has_feeds() ? 1 : kDraws); ++seed)
      if (auto drawn = right(seed)) rights_->push_back(std::move(*drawn));
  }
  std::optional<Compiled::Errors> worst;
  double most = -1;  // of what is allowed
  for (const Right& right : *rights_) {
    const isomer::Errors errors{right.runtime_error, error_of(as_operator, with(library), right)};
    const double share = errors.after / errors.allowed(options_.max_error_growth);
    if (share <= most) continue;
    most = share;
    worst = {errors.after, errors.before, errors.within(options_.max_error_growth)};
  }
  return worst;
}

std::optional<AgainstRuntime::Right> AgainstRuntime::right(std::uint64_t seed) const {
  const Graph& graph = model_.state().model.graph;
  const BenchOptions like{.feeds = options_.feeds,
                          .feeds_file = options_.feeds_file,
                          .values = options_.values,
                          .seed = seed,
                          .runtime = runtime_,
                          .stop = options_.stop};
  Right out{.feeds = to_public(feeds_of(like, {model_}, sizes_).tensors)};
  auto exact = exact_outputs(graph, to_internal(out.feeds), seed == 1 ? kMostOperations : kMostOfMore);
  if (!exact) return std::nullopt;
  out.exact = std::move(*exact);
  out.runtime_error = error_of(model_, runtime_, out);
  return out;
}

// Outputs that are not comparable, as those of other types, are as far as can be.
double AgainstRuntime::error_of(const Model& model, const RuntimeOptions& runtime, const Right& right) const {
  const Tensors outputs =
      run(model, right.feeds, {.engine = Engine::Runtime, .runtime = runtime, .stop = options_.stop});
  return isomer::error_of(to_internal(outputs), right.exact).value_or(HUGE_VAL);
}

Interval AgainstRuntime::ratio(const Model& as_operator, const std::filesystem::path& library) const {
  const BenchReport report = bench({model_, as_operator}, {.feeds = options_.feeds,
                                                           .feeds_file = options_.feeds_file,
                                                           .sizes = sizes_,
                                                           .values = options_.values,
                                                           .seconds = options_.seconds,
                                                           .runtime = with(library),
                                                           .scratch = options_.scratch,
                                                           .progress = options_.progress,
                                                           .stop = options_.stop});
  for (const BenchReport::Of& m : report.models)
    if (!m.failure.empty()) throw Error(ErrorKind::Runtime, m.failure);
  if (report.pairs.empty() || !report.pairs[0].failure.empty())
    throw Error(ErrorKind::Runtime, report.pairs.empty() ? "nothing was measured" : report.pairs[0].failure);
  return report.pairs[0].ratio;
}

}  // namespace isomer::api
