#include "optimizer/search/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "optimizer/facts/price.h"
#include "optimizer/propose/list.h"
#include "optimizer/search/assembly.h"
#include "optimizer/search/flush_weights.h"
#include "optimizer/search/moves.h"
#include "optimizer/search/plans/plan_search.h"
#include "optimizer/search/region_search.h"

namespace isomer {
namespace {

void keep(SearchContext& context, std::vector<Draft>& history, Draft next) {
  if (next.steps.size() <= history.back().steps.size()) return;
  history.push_back(std::move(next));
  context.tell(history.back());
}

// The result if a round ended now: all steps proved in it. nullopt: it was reported already.
SearchContext::SoFar so_far_of(StepMaker& maker, const Draft& before) {
  return [&maker, &before, told = std::size_t{0}](const std::vector<Step>& proved) mutable {
    if (proved.size() <= std::exchange(told, proved.size())) return std::optional<Draft>();
    return std::optional(maker.with(before, pointers_to(proved)));
  };
}

// Rounds over the whole model; each applies every step that is faster.
Status greedy(SearchContext& context, std::vector<Draft>& history) {
  Moves moves(context);
  for (;;) {
    ISOMER_TRY(Workpiece piece, Workpiece::of(history.back().graph));
    StepMaker maker(std::move(piece), context.proofs, context.options.seed, context.options.stop());
    const Draft before = history.back();
    context.so_far = so_far_of(maker, before);
    std::vector<StepGroup> groups = grouped(moves.proved(maker, moves.proposals(maker.piece(), false)));
    context.so_far = {};
    const bool has_more = moves.was_cut_short() && !context.is_over();
    context.report.unique_regions += groups.size();
    if (groups.empty()) return Done{};
    Draft next = context.trials ? Assembly(context).choose(before, maker, groups)
                                : maker.with(before, all_steps(pointers_to(groups)));
    moves.note_trouble(maker);
    if (next.steps.size() == before.steps.size()) {
      if (has_more) continue;
      return Done{};
    }
    moves.allow_left_out(pointers_to(groups), before, next);
    ISOMER_TRY(next, moves.simplified(next));
    history.push_back(std::move(next));
    context.tell(history.back());
  }
}

// A draft that is as fast in float32, except for noise, may be the start.
constexpr double kLeastFirst = 0.95, kGainingFirst = 1.05, kFirstSeconds = 2;
constexpr double kOperationsPerSecond = 6e9;  // of float64, as in assembly.cpp

// Why a first step is not taken; nullopt: it computes as fast, and no less exactly.
std::optional<std::string> why_not_first(SearchContext& context, const Workpiece& piece, Step& step) {
  const double left = context.options.seconds_left();
  if (const auto seen = context.trials->observe(context.model, piece, {&step}); !seen.ok())
    return seen.error().what;
  const auto trial = context.trials->region(piece, step, context.proofs, std::min(kFirstSeconds, left / 8),
                                            left * kOperationsPerSecond);
  if (!trial.ok()) return trial.error().what;
  if (!trial->errors || !trial->time) return "there was no time to measure its error";
  if (!trial->errors->within(std::min(1.0, context.options.max_error_growth)))
    return fmt::format("its error would be {:.1e} instead of {:.1e}", trial->errors->after,
                       trial->errors->before);
  step.ratio = trial->time->ratio.estimate;
  context.report.regions.push_back({step.change, step.proposal.what, 1, trial->time->ratio});
  if (step.ratio < kLeastFirst) return fmt::format("it is slower: {:.2f}×", step.ratio);
  return std::nullopt;
}

// The first operations on a graph: proposers see its result.
Status do_first(SearchContext& context, std::vector<Draft>& history) {
  if (context.trials == nullptr || context.is_over()) return Done{};  // bets on the runtime
  ISOMER_TRY(Workpiece piece, Workpiece::of(history.back().graph));
  const Proposals found =
      propose_first(piece.graph(), piece.inference(), {.without = context.options.without});
  StepMaker maker(piece, context.proofs, context.options.seed, context.options.stop());
  Moves moves(context);
  std::vector<StepGroup> groups = grouped(moves.proved(maker, found.list));
  for (StepGroup& group : groups) {
    Step& step = group.steps[0];
    context.options.progress("measuring: " + describe(step.change));
    if (const auto why = why_not_first(context, piece, step)) {
      context.report.refused.push_back(fmt::format("{}: {}", describe(step.change), *why));
      continue;
    }
    Draft next = maker.with(history.back(), {&step});
    // A step that is not faster by itself is not tried before others have built on it.
    if (step.ratio > kGainingFirst) keep(context, history, std::move(next));
    else if (next.steps.size() > history.back().steps.size()) history.push_back(std::move(next));
  }
  moves.note_trouble(maker);
  return Done{};
}

Result<std::vector<Draft>> searched(SearchContext& context) {
  std::vector<Draft> history{{.graph = context.model.graph}};
  ISOMER_TRY(Draft flushed, without_denormals(context, history.back()));
  keep(context, history, std::move(flushed));
  if (context.options.plans.store) {
    ISOMER_TRY(Draft planned, with_plans(context, history.back()));
    keep(context, history, std::move(planned));
  }
  context.options.progress("folding constants");
  ISOMER_TRY(Draft first, Moves(context).simplified(history.back()));
  keep(context, history, std::move(first));
  ISOMER_TRY_DO(do_first(context, history));
  if (context.options.strategy.kind != Strategy::Kind::Greedy)
    for (const bool shifted : {false, true}) {
      ISOMER_TRY(Draft next, search_regions(context, history.back(), shifted));
      keep(context, history, std::move(next));
    }
  ISOMER_TRY_DO(greedy(context, history));
  return history;
}

}  // namespace

Result<std::vector<Draft>> search(const SearchOptions& options, const Model& model, Trials* trials,
                                  SearchReport& report) {
  SearchContext context(options, model, trials, report);
  report.cost_before = report.cost_after = price_of(model.graph, context.machine());
  auto history = searched(context);
  report.proofs = context.proofs.attempts();
  report.cache_hits = context.proofs.hits();
  report.prices = context.machine().prices;
  report.cost_before = price_of(model.graph, context.machine());
  if (history.ok()) report.cost_after = price_of(history->back().graph, context.machine());
  if (trials) report.questions = trials->machine().questions();
  if (trials) report.known_measurements = trials->known();
  return history;
}

}  // namespace isomer
