#include "optimizer/search/region_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "optimizer/facts/price.h"
#include "optimizer/search/assembly.h"
#include "optimizer/search/moves.h"
#include "optimizer/search/regions.h"
#include "optimizer/search/replay.h"
#include "optimizer/search/saturate/saturate.h"

namespace isomer {
namespace {

constexpr int kMostNodes = 40;            // of a region: larger ones have more states than there is time for
constexpr std::size_t kMostMeasured = 3;  // final states of one region

std::string structure(const Graph& graph) { return question(graph, graph, {}); }

class RegionSpace : public GraphSpace {
 public:
  // `best`: the cheapest state that was reached; nullopt: none so far.
  RegionSpace(SearchContext& context, std::optional<State>& best)
      : context_(context), moves_(context, Moves::Scope::State), best_(best) {}

  std::optional<State> start(const Graph& region) {
    auto draft = moves_.simplified({.graph = region});
    return draft.ok() ? priced(std::move(*draft)) : std::nullopt;
  }

  std::vector<State> expand(const State& state, double most) override {
    return expand_wanted(state, most, [](const Proposal&) { return true; });
  }
  std::vector<State> expand_wanted(const State& state, double most, const Wanted& is_wanted) override {
    std::vector<State> out;
    auto piece = Workpiece::of(state.draft.graph);
    if (!piece.ok()) return out;
    StepMaker maker(std::move(*piece), context_.proofs, context_.options.seed, context_.options.stop());
    std::vector<Proposal> found = moves_.proposals(maker.piece(), true);
    std::erase_if(found, [&](const Proposal& p) { return state.cost - p.gain >= most || !is_wanted(p); });
    for (const Step& step : moves_.proved(maker, found)) {
      auto next = moves_.simplified(maker.with(state.draft, {&step}));
      if (!next.ok() || next->steps.size() == state.draft.steps.size()) continue;
      if (auto reached = priced(std::move(*next)); reached && reached->cost < most)
        out.push_back(std::move(*reached));
    }
    return out;
  }
  std::optional<State> taken(const State& state, const std::vector<Proposal>& all) override {
    auto piece = Workpiece::of(state.draft.graph);
    if (!piece.ok()) return std::nullopt;
    StepMaker maker(std::move(*piece), context_.proofs, context_.options.seed, context_.options.stop());
    const std::vector<Step> steps = moves_.proved(maker, all);
    if (steps.size() < all.size()) return std::nullopt;
    auto next = moves_.simplified(maker.with(state.draft, pointers_to(steps)));
    if (!next.ok() || next->steps.size() == state.draft.steps.size()) return std::nullopt;
    return priced(std::move(*next));
  }
  std::string key(const State& state) const override { return structure(state.draft.graph); }
  const Machine& machine() const override { return context_.machine(); }
  double seconds_left() const override { return context_.options.seconds_left(); }
  bool is_over() override { return context_.is_over(); }

 private:
  std::optional<State> priced(Draft draft) {
    const auto inference = infer(draft.graph);
    if (!inference.ok()) return std::nullopt;
    context_.learn(draft.graph, *inference);
    const double cost = price(draft.graph, *inference, context_.machine());
    State out{std::move(draft), cost};
    if (!best_ || cost < best_->cost) best_ = out;
    return out;
  }

  SearchContext& context_;
  Moves moves_;
  std::optional<State>& best_;
};

// Equal regions, and what was found for the first of them.
struct Unique {
  std::vector<const RegionPlace*> places;
  std::vector<State> better;  // than it is, the cheapest first
  double gain = 0;            // at all places, by the analytic cost
};

class RegionSearch {
 public:
  RegionSearch(SearchContext& context, const Draft& draft, bool shifted)
      : context_(context), draft_(draft), shifted_(shifted) {}

  Result<Draft> run() {
    ISOMER_TRY(const Workpiece piece, Workpiece::of(draft_.graph));
    const std::vector<RegionPlace> places = partition(piece, kMostNodes, shifted_);
    std::map<std::string, Unique> unique;
    for (const RegionPlace& p : places) unique[structure(p.graph)].places.push_back(&p);
    std::vector<Unique*> found;
    const Unique* now = nullptr;
    double told = 0;  // the gain
    context_.so_far = [&](const std::vector<Step>&) { return so_far(found, *now, told); };
    for (auto& [key, region] : unique) {
      if (context_.is_over()) break;
      now = &region;
      explore_one(region);
      if (!region.better.empty()) found.push_back(&region);
    }
    context_.so_far = {};
    std::ranges::stable_sort(found, std::greater<>{}, &Unique::gain);
    return context_.trials ? measured(found) : best_of(found);
  }

 private:
  void explore_one(Unique& region) {
    ++context_.report.unique_regions;
    std::optional<State> best;
    RegionSpace space(context_, best);
    const auto start = space.start(region.places[0]->graph);
    if (!start) return;
    start_cost_ = start->cost;
    best_ = &best;
    const Strategy& strategy = context_.options.strategy;
    for (State& s : strategy.kind == Strategy::Kind::Saturate
                        ? saturate(space, *start, context_.report.saturation)
                        : explore(space, *start, strategy))
      if (s.cost < start->cost && region.better.size() < kMostMeasured) region.better.push_back(std::move(s));
    if (!region.better.empty()) region.gain = gain_of(region, start->cost, region.better[0].cost);
    best_ = nullptr;
  }
  static double gain_of(const Unique& region, double before, double after) {
    return (before - after) * static_cast<double>(region.places.size());
  }

  // The finished regions, and the best of the current one, if that is more than the last report.
  std::optional<Draft> so_far(const std::vector<Unique*>& found, const Unique& now, double& told) {
    double gain = 0;
    std::vector<Replay> all;
    const auto take = [&](const Unique& region, const State& state) {
      std::ranges::move(replays(region, state), std::back_inserter(all));
    };
    for (const Unique* region : found) {
      gain += region->gain;
      take(*region, region->better[0]);
    }
    std::optional<State> best;  // a copy: it may go on while it is taken
    if (best_ != nullptr && *best_ && (*best_)->cost < start_cost_) {
      best = *best_;
      gain += gain_of(now, start_cost_, best->cost);
      take(now, *best);
    }
    if (gain <= told) return std::nullopt;
    auto draft = replayed(context_, draft_, std::move(all));
    if (!draft.ok()) return std::nullopt;
    told = gain;
    return std::move(*draft);
  }

  std::vector<Replay> replays(const Unique& region, const State& state) {
    std::vector<Replay> out;
    for (const RegionPlace* place : region.places)
      out.emplace_back(state.draft, Renaming(region.places[0]->graph, place->graph,
                                             fmt::format(".region{}", context_.next_place++)));
    return out;
  }

  Result<Draft> best_of(const std::vector<Unique*>& found) {
    std::vector<Replay> all;
    for (const Unique* region : found)
      std::ranges::move(replays(*region, region->better[0]), std::back_inserter(all));
    return replayed(context_, draft_, std::move(all));
  }

  // The best few of each region, each in the whole model.
  Result<Draft> measured(const std::vector<Unique*>& found) {
    Draft now = draft_;
    Assembly assembly(context_);
    for (const Unique* region : found)
      for (const State& state : region->better) {
        if (context_.is_over()) return now;
        ISOMER_TRY(Draft next, replayed(context_, now, replays(*region, state)));
        if (!assembly.is_faster(now, next)) continue;
        now = std::move(next);
        break;
      }
    return now;
  }

  SearchContext& context_;
  const Draft& draft_;
  bool shifted_;
  // Best state of the current region.
  const std::optional<State>* best_ = nullptr;
  double start_cost_ = 0;
};

}  // namespace

Result<Draft> search_regions(SearchContext& context, const Draft& draft, bool shifted) {
  return RegionSearch(context, draft, shifted).run();
}

}  // namespace isomer
