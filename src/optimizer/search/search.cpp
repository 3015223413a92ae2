#include "optimizer/search/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "optimizer/facts/price.h"
#include "optimizer/propose/list.h"
#include "optimizer/search/assembly.h"
#include "optimizer/search/moves.h"
#include "optimizer/search/plan_search.h"
#include "optimizer/search/region_search.h"

namespace isomer {
namespace {

void keep(SearchContext& context, std::vector<Draft>& history, Draft next) {
  if (next.steps.size() <= history.back().steps.size()) return;
  history.push_back(std::move(next));
  context.tell(history.back());
}

// Those of the proposers that the prior wants asked first and that may be asked; empty: there is no such
// order.
std::set<std::string> asked_first(SearchContext& context) {
  if (!context.options.prior) return {};
  const auto inference = infer(context.model.graph);
  if (!inference.ok()) return {};
  auto order = context.options.prior->order_for(features_of(context.model.graph, *inference));
  if (!order) return {};
  std::set<std::string> out;
  bool leaves_some = false;
  for (const Proposer* p : proposers()) {
    const std::string name(p->name);
    // Others are asked elsewhere, or by strategies that look further.
    if (p->kind != Proposer::Kind::Default || p->propose == nullptr || p == &kSimplify ||
        context.options.without.contains(name))
      continue;
    if (std::ranges::find(order->first, name) != order->first.end()) out.insert(name);
    else leaves_some = true;
  }
  if (out.empty() || !leaves_some) return {};
  order->first.assign(out.begin(), out.end());
  context.report.prior = std::move(order);
  return out;
}

// A round of a greedy search: what is proposed for one graph, proved, and chosen from. Those that the prior
// wants first are asked, proved and measured first, and what that gives is told; what is chosen in the end is
// chosen from all.
class GreedyRound {
 public:
  GreedyRound(SearchContext& context, Moves& moves, StepMaker& maker, const Draft& draft)
      : context_(context), moves_(moves), maker_(maker), draft_(draft) {
    std::size_t told = 0;
    context_.so_far = [this, told](const std::vector<Step>& proved) mutable -> std::optional<Draft> {
      if (steps_.size() + proved.size() <= std::exchange(told, steps_.size() + proved.size()))
        return std::nullopt;
      std::vector<const Step*> all = pointers_to(steps_);
      for (const Step& s : proved) all.push_back(&s);
      return maker_.with(draft_, all);
    };
  }
  ~GreedyRound() { context_.so_far = {}; }
  GreedyRound(const GreedyRound&) = delete;
  GreedyRound& operator=(const GreedyRound&) = delete;

  void ask(const std::set<std::string>& first) {
    if (first.empty()) {
      order_ = moves_.proposals(maker_.piece(), false);
      prove();
      return;
    }
    order_ = moves_.first_proposals(maker_.piece(), first);
    prove();
    tell();
    if (context_.is_over()) return;
    order_ = moves_.with_others(std::move(order_), maker_.piece(), first);
    prove();
  }
  // Groups of equals, as far as they were proved.
  std::size_t groups() const { return early_.size() + late_.size(); }
  bool has_more() const { return has_more_; }
  Draft chosen() {
    if (context_.trials) return assembly_.chosen(draft_, maker_);
    return maker_.with(draft_, all_steps(pointers_to(late_)));
  }
  void allow_left_out(const Draft& next) {
    std::vector<const StepGroup*> all = pointers_to(early_);
    for (const StepGroup& g : late_) all.push_back(&g);
    moves_.allow_left_out(all, draft_, next);
  }

 private:
  void prove() {
    std::vector<Step> proved = moves_.proved(maker_, order_);
    has_more_ = has_more_ || (moves_.was_cut_short() && !context_.is_over());
    if (context_.trials) {
      std::vector<StepGroup>& groups = early_.empty() ? early_ : late_;
      groups = grouped(std::move(proved));
      if (!groups.empty()) assembly_.measure(maker_, groups);
      return;
    }
    for (Step& s : proved) steps_.push_back(std::move(s));
    Moves::sort_like(order_, steps_);
    late_ = grouped(steps_);
  }
  // What there is before others are asked. Without a runtime the search tells by itself (so_far).
  void tell() {
    if (!context_.trials || context_.is_over()) return;
    const int next = context_.next_place;
    if (Draft draft = assembly_.promising(draft_, maker_); draft.steps.size() > draft_.steps.size())
      context_.tell(draft);
    context_.next_place = next;
  }

  SearchContext& context_;
  Moves& moves_;
  StepMaker& maker_;
  const Draft& draft_;
  Assembly assembly_{context_};
  std::vector<Proposal> order_;
  std::vector<Step> steps_;              // without a runtime
  std::vector<StepGroup> early_, late_;  // measured first and afterwards; without a runtime all are in late_
  bool has_more_ = false;
};

// Rounds over the whole model; in each, whatever pays.
Status greedy(SearchContext& context, std::vector<Draft>& history) {
  Moves moves(context);
  const std::set<std::string> first = asked_first(context);
  for (;;) {
    ISOMER_TRY(Workpiece piece, Workpiece::of(history.back().graph));
    StepMaker maker(std::move(piece), context.proofs, context.options.seed, context.options.stop());
    const Draft before = history.back();
    GreedyRound round(context, moves, maker, before);
    round.ask(first);
    context.so_far = {};
    context.report.unique_regions += round.groups();
    if (round.groups() == 0) return Done{};
    Draft next = round.chosen();
    moves.note_trouble(maker);
    if (next.steps.size() == before.steps.size()) {
      if (round.has_more()) continue;
      return Done{};
    }
    round.allow_left_out(next);
    ISOMER_TRY(next, moves.simplified(next));
    history.push_back(std::move(next));
    context.tell(history.back());
  }
}

// What computes as fast in float32, but for noise, may go on from there.
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
  if (step.ratio < kLeastFirst) return fmt::format("it is slower, {:.2f} times as fast", step.ratio);
  return std::nullopt;
}

// What is done to a graph before anything else: others look at what it makes of it.
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
    // What is not faster by itself is not worth a look before others have built on it.
    if (step.ratio > kGainingFirst) keep(context, history, std::move(next));
    else if (next.steps.size() > history.back().steps.size()) history.push_back(std::move(next));
  }
  moves.note_trouble(maker);
  return Done{};
}

Result<std::vector<Draft>> searched(SearchContext& context) {
  std::vector<Draft> history{{.graph = context.model.graph}};
  if (context.options.plans.store) {
    ISOMER_TRY(Draft planned, with_plans(context, history.back()));
    keep(context, history, std::move(planned));
    if (is_settled(context, history.back())) return history;
  }
  ISOMER_TRY(Draft first, Moves(context).simplified(history.back()));
  keep(context, history, std::move(first));
  if (is_settled(context, history.back())) return history;
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
  context.tried_before.keep();
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
