#include "optimizer/search/plans/plan_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "kernel/prove/flush.h"
#include "optimizer/facts/price.h"
#include "optimizer/plans/places.h"
#include "optimizer/plans/store.h"
#include "optimizer/search/assembly.h"
#include "optimizer/search/plans/found_plans.h"
#include "optimizer/search/replay.h"

namespace isomer {
namespace {

constexpr std::size_t kMostPlans = 4096;  // of one model: more take longer to match than they can save

// A plan and where it may be done.
struct Candidate {
  Draft draft;  // its steps
  std::vector<PlanPlace> places;
  double ratio = 0;  // measured by others on this target; 0: not
  std::size_t size() const { return places[0].replaced.size(); }
};

Draft draft_of(const Plan& plan) {
  Draft out;
  out.steps = plan.steps;
  for (const Plan::About& a : plan.about) out.taken.push_back({{.kind = a.kind}, a.what, a.kind});
  return out;
}

// Objects that entries of an anchor name, each with what was measured on this target.
std::map<std::string, double> objects_under(const PlanStore& store, const std::string& anchor,
                                            const std::string& target) {
  std::map<std::string, double> out;
  for (const PlanEntry& e : store.find(anchor)) {
    double& ratio = out[e.object];
    if (e.target == target && !target.empty()) ratio = std::max(ratio, e.ratio);
  }
  return out;
}

std::vector<Candidate> candidates(const PlanStore& store, const std::string& target, const Workpiece& piece) {
  PlaceFinder finder(piece);
  std::vector<Candidate> out;
  for (const std::string& anchor : finder.anchors())
    for (const auto& [object, ratio] : objects_under(store, anchor, target)) {
      if (out.size() >= kMostPlans) return out;
      const auto plan = store.plan(object);
      if (!plan) continue;
      auto places = finder.places(anchor, plan->region, plan->key);
      if (!places.empty()) out.push_back({draft_of(*plan), std::move(places), ratio});
    }
  // The largest regions first; plans with a known gain before others.
  std::ranges::stable_sort(out, std::greater<>{},
                           [](const Candidate& c) { return std::pair(c.size(), c.ratio); });
  return out;
}

// Each value is replaced by one of them.
void drop_overlapping(std::vector<Candidate>& all) {
  std::set<std::string> taken;
  for (Candidate& c : all)
    std::erase_if(c.places, [&](const PlanPlace& place) {
      if (std::ranges::any_of(place.replaced, [&](const auto& n) { return taken.contains(n); })) return true;
      taken.insert(place.replaced.begin(), place.replaced.end());
      return false;
    });
  std::erase_if(all, [](const Candidate& c) { return c.places.empty(); });
}

class Planned {
 public:
  Planned(SearchContext& context, const Draft& draft) : context_(context), draft_(draft) {}

  Result<Draft> run() {
    ISOMER_TRY(const Workpiece piece, Workpiece::of(draft_.graph));
    const SearchOptions::Plans& plans = context_.options.plans;
    context_.options.progress("reading the store of plans");
    std::vector<Candidate> all = candidates(*plans.store, plans.target, piece);
    SearchReport::Plans& report = context_.report.plans;
    report.found = all.size();
    drop_overlapping(all);
    for (const Candidate& c : all) report.places += c.places.size();
    if (all.empty()) return draft_;
    context_.options.progress(fmt::format("proving: {} plans of the store", all.size()));
    ISOMER_TRY(Draft next, proved(all));
    report.taken = all.size();
    if (context_.trials == nullptr || all.empty()) return next;
    Assembly assembly(context_);
    if (assembly.is_faster(draft_, next)) return next;
    return one_by_one(assembly, all);
  }

 private:
  std::vector<Replay> replays(const Candidate& c) {
    std::vector<Replay> out;
    for (const PlanPlace& place : c.places)
      out.emplace_back(c.draft, Renaming(place.names, fmt::format(".plan{}", context_.next_place++)));
    return out;
  }

  // All that are proved, and that cost no more if nothing is measured. Others are removed, and the rest is
  // done again: its proofs are cached.
  Result<Draft> proved(std::vector<Candidate>& all) {
    Draft best = draft_;
    std::vector<Candidate> best_of;
    double least = price_of(draft_.graph, context_.machine());
    for (;;) {
      std::vector<Replay> open;
      std::vector<std::size_t> ends;
      for (const Candidate& c : all) {
        std::ranges::move(replays(c), std::back_inserter(open));
        ends.push_back(open.size());
      }
      ISOMER_TRY(Draft next, replayed(context_, draft_, open));
      const auto before = Workpiece::of(draft_.graph), after = Workpiece::of(next.graph);
      bool is_any_stuck = false;
      std::vector<bool> is_bad;
      std::size_t begin = 0;
      for (std::size_t k = 0; k < all.size(); begin = ends[k++]) {
        const bool is_stuck = std::any_of(open.begin() + static_cast<std::ptrdiff_t>(begin),
                                          open.begin() + static_cast<std::ptrdiff_t>(ends[k]),
                                          [](const Replay& r) { return r.is_stuck; });
        if (is_stuck) ++context_.report.plans.refused;
        is_any_stuck = is_any_stuck || is_stuck;
        is_bad.push_back(is_stuck ||
                         (context_.trials == nullptr && !is_cheaper(all[k].places[0], before, after)));
      }
      if (context_.is_over()) return draft_;
      const bool is_last = std::ranges::none_of(is_bad, [](bool b) { return b; });
      if (is_last && (context_.trials != nullptr || context_.options.any_price)) return next;
      // A step that costs more at its own place may cost less beside others.
      if (const double price = price_of(next.graph, context_.machine());
          context_.trials == nullptr && !is_any_stuck && price <= least) {
        least = price;
        best = std::move(next);
        best_of = all;
      }
      std::size_t k = 0;
      std::erase_if(all, [&](const Candidate&) { return is_bad[k++]; });
      if (!is_last && !all.empty()) continue;
      all = std::move(best_of);
      return best;
    }
  }
  // By the analytic cost, at the first of its places.
  bool is_cheaper(const PlanPlace& place, const Result<Workpiece>& before, const Result<Workpiece>& after) {
    if (context_.options.any_price) return true;
    const auto was = cost_of(before, place), is = cost_of(after, place);
    return !was || !is || *is <= *was;  // if unknown, the whole model decides
  }
  std::optional<double> cost_of(const Result<Workpiece>& piece, const PlanPlace& place) {
    if (!piece.ok()) return std::nullopt;
    // Unread values are removed.
    const ValuesByName names = values_by_name(piece->graph());
    std::vector<std::string> inputs = place.inputs;
    std::erase_if(inputs, [&](const std::string& name) { return !names.contains(name); });
    const auto region = piece->region(inputs, place.outputs);
    return region.ok() ? std::optional(price_of(*region, context_.machine())) : std::nullopt;
  }

  // Where all of them together are not faster.
  Result<Draft> one_by_one(Assembly& assembly, const std::vector<Candidate>& all) {
    Draft now = draft_;
    std::size_t taken = 0;
    for (const Candidate& c : all) {
      if (all.size() == 1 || context_.is_over()) break;
      ISOMER_TRY(Draft next, replayed(context_, now, replays(c)));
      if (!assembly.is_faster(now, next)) continue;
      now = std::move(next);
      ++taken;
    }
    context_.report.plans.taken = taken;
    return now;
  }

  SearchContext& context_;
  const Draft& draft_;
};

}  // namespace

Result<Draft> with_plans(SearchContext& context, const Draft& draft) { return Planned(context, draft).run(); }

std::size_t keep_plans(const SearchOptions& options, const Model& model, const Draft& best) {
  if (!options.plans.store) return 0;
  PlanStore& store = *options.plans.store;
  // A plan is about constants as its steps found them.
  const auto* flush = best.steps.empty() ? nullptr : std::get_if<FlushStep>(&best.steps.front());
  const auto flushed = flush_denormals(model.graph, flush ? flush->constants : std::vector<std::string>{});
  if (!flushed.ok()) return 0;
  const auto original = Workpiece::of(flushed->graph);
  if (!original.ok()) return 0;
  std::size_t kept = 0;
  for (const FoundPlan& found : plans_in(*original, best, options.plans.by))
    if (store.keep(found.anchor, found.plan, options.plans.target, found.ratio)) ++kept;
  return kept;
}

}  // namespace isomer
