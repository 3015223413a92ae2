#include "optimizer/search/flush_weights.h"

#include <algorithm>
#include <cmath>

#include "kernel/prove/flush.h"
#include "model/graph/constant.h"
#include "model/graph/names.h"
#include "optimizer/propose/proposer.h"

namespace isomer {
namespace {

// The least that denormal numbers must cost: for less, a model is not called equal but for them.
constexpr double kLeastGain = 1.02;
constexpr double kShare = 0.1, kMostSeconds = 10;  // of the time, for measuring it

// By how much a sum of products with one of these constants changes, at most, of its largest other factor.
double bound_of(const Graph& graph, const std::vector<std::string>& constants) {
  const ValuesByName names = values_by_name(graph);
  double most = 0;
  for (const std::string& name : constants) {
    const auto tensor = known_constant(graph, names.at(name));
    double sum = 0;
    for (const float value : tensor->as<float>())
      if (is_denormal(value)) sum += std::abs(static_cast<double>(value));
    most = std::max(most, sum);
  }
  return most;
}

}  // namespace

Result<Draft> without_denormals(SearchContext& context, const Draft& given) {
  if (context.trials == nullptr || context.options.without.contains(std::string(kDenormals.name)))
    return given;
  ISOMER_TRY(const Inference inference, infer(given.graph));
  const Proposals found = kDenormals(given.graph, inference);
  if (found.list.empty()) return given;
  const Proposal& proposal = found.list.front();
  ISOMER_TRY(Flushed flushed, flush_denormals(given.graph, proposal.flushes));
  const auto write = [&](const Graph& graph) {
    return ScratchModel::write(with_graph(context.model, graph), context.options.out);
  };
  ISOMER_TRY(const ScratchModel before, write(given.graph));
  ISOMER_TRY(const ScratchModel after, write(flushed.graph));
  const auto measured =
      context.trials->rank(before, after, std::min(context.options.seconds_left() * kShare, kMostSeconds),
                           told_as(context.options.progress, "the model without denormals"));
  if (!measured.ok()) return given;
  const Change change{.kind = proposal.kind};
  context.report.regions.push_back({change, proposal.what, 1, measured->ratio});
  if (measured->ratio.low <= kLeastGain) return given;
  return Draft{.graph = std::move(flushed.graph),
               .steps = {FlushStep{proposal.flushes}},
               .taken = {{.change = change,
                          .what = proposal.what,
                          .label = proposal.kind,
                          .ratio = measured->ratio.estimate,
                          .is_claim = false}},
               .flushed = {.numbers = flushed.numbers, .bound = bound_of(given.graph, proposal.flushes)}};
}

Result<Draft::Flushed> count_flushed(const Graph& model, const std::vector<CertifiedStep>& steps) {
  Draft::Flushed out;
  for (const CertifiedStep& step : steps) {
    const auto* flush = std::get_if<FlushStep>(&step);
    if (flush == nullptr) continue;
    ISOMER_TRY(const Flushed done, flush_denormals(model, flush->constants));
    out.numbers += done.numbers;
    out.bound = std::max(out.bound, bound_of(model, flush->constants));
  }
  return out;
}

}  // namespace isomer
