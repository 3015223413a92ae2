#include "search/search.h"

#include "cost/price.h"
#include "search/assembly.h"
#include "search/moves.h"
#include "search/region_search.h"

namespace isomer {
namespace {

// Rounds over the whole model; in each, whatever pays.
Status greedy(SearchContext& context, std::vector<Draft>& history) {
  Moves moves(context);
  for (;;) {
    ISOMER_TRY(Workpiece piece, Workpiece::of(history.back().graph));
    StepMaker maker(std::move(piece), context.proofs, context.options.seed, context.options.stop());
    std::vector<StepGroup> groups = grouped(moves.proved(maker, moves.proposals(maker.piece(), false)));
    context.report.unique_regions += groups.size();
    const bool has_more = moves.was_cut_short() && !context.is_over();
    if (groups.empty()) return Done{};
    Draft next = context.trials ? Assembly(context).choose(history.back(), maker, groups)
                                : maker.with(history.back(), all_steps(pointers_to(groups)));
    moves.note_trouble(maker);
    if (next.steps.size() == history.back().steps.size()) {
      if (has_more) continue;
      return Done{};
    }
    moves.allow_left_out(groups, history.back(), next);
    ISOMER_TRY(next, moves.simplified(next));
    history.push_back(std::move(next));
    context.options.on_draft(history.back());
  }
}

double price_of(const Graph& graph, const Machine& machine) {
  const auto inference = infer(graph);
  return inference.ok() ? price(graph, *inference, machine) : 0;  // by what the search has learned
}

Result<std::vector<Draft>> searched(SearchContext& context) {
  std::vector<Draft> history{{.graph = context.model.graph}};
  const auto keep = [&](Draft next) {
    if (next.steps.size() <= history.back().steps.size()) return;
    history.push_back(std::move(next));
    context.options.on_draft(history.back());
  };
  ISOMER_TRY(Draft first, Moves(context).simplified(history.back()));
  keep(std::move(first));
  if (context.options.strategy.kind != Strategy::Kind::Greedy)
    for (const bool shifted : {false, true}) {
      ISOMER_TRY(Draft next, search_regions(context, history.back(), shifted));
      keep(std::move(next));
    }
  ISOMER_TRY_DO(greedy(context, history));
  return history;
}

}  // namespace

Result<std::vector<Draft>> search(const SearchOptions& options, const Model& model, Trials* trials,
                                  SearchReport& report) {
  SearchContext context{.options = options, .model = model, .trials = trials, .report = report};
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
