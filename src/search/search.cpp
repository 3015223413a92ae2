#include "search/search.h"

#include <fmt/format.h>

#include "propose/list.h"
#include "search/assembly.h"

namespace isomer {
namespace {

constexpr int kMostRounds = 8;          // of simplifying
constexpr double kShareOfSearch = 0.6;  // of the time, if something is measured; the rest is the guard's

// Rounds over the whole model; in each, whatever pays.
class Greedy {
 public:
  explicit Greedy(SearchContext& context) : context_(context) {}

  Result<std::vector<Draft>> run() {
    std::vector<Draft> history{{.graph = context_.model.graph}};
    ISOMER_TRY(Draft first, simplified(history.back()));
    if (!first.steps.empty()) history.push_back(std::move(first));
    for (;;) {
      ISOMER_TRY(Workpiece piece, Workpiece::of(history.back().graph));
      StepMaker maker(std::move(piece), context_.proofs, options().seed);
      std::vector<StepGroup> groups = grouped(proved(maker, proposals(maker.piece())));
      context_.report.unique_regions += groups.size();
      if (groups.empty()) break;
      Draft next = context_.trials ? Assembly(context_).choose(history.back(), maker, groups)
                                   : maker.with(history.back(), all_steps(pointers_to(groups)));
      note_trouble(maker);
      if (next.steps.size() == history.back().steps.size()) break;
      ISOMER_TRY(next, simplified(next));
      history.push_back(std::move(next));
    }
    return history;
  }

 private:
  const SearchOptions& options() const { return context_.options; }

  std::vector<Proposal> proposals(const Workpiece& piece) {
    ++context_.report.states;
    std::set<std::string> without = options().without;
    without.insert("simplify");  // done
    Proposals found =
        propose_all(piece.graph(), piece.inference(), {.any_price = options().any_price, .without = without});
    context_.report.declined = std::move(found.declined);
    // Without a runtime to ask, the analytic cost has the last word.
    if (context_.trials == nullptr && !options().any_price)
      std::erase_if(found.list, [](const Proposal& p) { return p.gain <= 0; });
    return std::move(found.list);
  }

  // Those that can be proved, while there is time.
  std::vector<Step> proved(const StepMaker& maker, const std::vector<Proposal>& proposals) {
    std::vector<Step> out;
    for (const Proposal& p : proposals) {
      std::string key = p.kind + " " + p.what;
      for (const auto* names : {&p.claim.outputs, &p.claim.inputs, &p.folds})
        for (const std::string& name : *names) key += " " + name;
      if (seen_.contains(key)) continue;
      if (context_.is_over()) break;
      seen_.insert(std::move(key));
      ++context_.tried;
      options().progress(fmt::format("proving: {}", p.what));
      auto step = maker.prove(p);
      if (auto* why = std::get_if<std::string>(&step))
        context_.report.refused.push_back(p.what + ": " + *why);
      else out.push_back(std::get<Step>(std::move(step)));
    }
    return out;
  }

  void note_trouble(const StepMaker& maker) {
    auto& refused = context_.report.refused;
    refused.insert(refused.end(), maker.trouble().begin(), maker.trouble().end());
  }

  // Nothing of this is for sale: it costs nothing and lets the proposers see more.
  Result<Draft> simplified(Draft draft) {
    if (options().without.contains("simplify")) return draft;
    for (int round = 0; round < kMostRounds; ++round) {
      ISOMER_TRY(Workpiece piece, Workpiece::of(draft.graph));
      const Proposals found = propose_simplify(piece.graph(), piece.inference());
      StepMaker maker(std::move(piece), context_.proofs, options().seed);
      const std::vector<Step> steps = proved(maker, found.list);
      if (steps.empty()) break;
      draft = maker.with(draft, pointers_to(steps));
      note_trouble(maker);
    }
    return draft;
  }

  SearchContext& context_;
  std::set<std::string> seen_;
};

}  // namespace

bool SearchContext::is_over() {
  if (report.stopped_by != "done") return true;
  if (options.stop != nullptr && *options.stop) report.stopped_by = "interrupt";
  else if (tried >= options.steps || options.spent() > options.seconds * (trials ? kShareOfSearch : 1))
    report.stopped_by = "budget";
  return report.stopped_by != "done";
}

Result<std::vector<Draft>> search(const SearchOptions& options, const Model& model, Trials* trials,
                                  SearchReport& report) {
  SearchContext context{.options = options, .model = model, .trials = trials, .report = report};
  auto history = Greedy(context).run();
  report.proofs = context.proofs.attempts();
  report.cache_hits = context.proofs.hits();
  return history;
}

}  // namespace isomer
