#include "optimizer/search/saturate/saturate.h"

#include <algorithm>
#include <set>

#include "base/integer_program.h"
#include "optimizer/search/saturate/chosen_program.h"

namespace isomer {
namespace {

constexpr std::size_t kMostViews = 64;    // as many states as other strategies look at
constexpr std::size_t kPatience = 24;     // views without anything better
constexpr std::size_t kMostNodes = 4096;  // of the e-graph
constexpr int kMostRefused =
    8;  // programs of a region, before its last choice: those there are seldom proved
constexpr int kMostChoices = 4;  // of the last extraction, while what it chooses is not proved
constexpr double kMostLoss = 2;  // a state costs at most this multiple of the best
// Operators of a rewrite that saves nothing: larger ones fill the e-graph, and are slowly proved (a
// convolution as products of ten slices, at named sizes: minutes).
constexpr std::size_t kMostOfALoss = 16;
constexpr double kLess = 1 - 1e-9;  // is less, whatever the order of a sum

std::set<EGraph::NodeNumber> nodes_of(const Extraction& program) {
  std::set<EGraph::NodeNumber> out;
  for (const auto& [c, n] : program.chosen) out.insert(n);
  return out;
}

class Saturation {
 public:
  Saturation(GraphSpace& space, const State& start, SearchReport::Saturation& report)
      : space_(space), report_(report), classes_(start.draft.graph) {
    reached_.push_back({.state = start, .placed = classes_.add(start.draft, space.machine())});
    note(reached_[0].placed);
    roots_ = reached_[0].placed.outputs;
    keys_.insert(space.key(start));
    best_ = start.cost;
  }

  std::vector<State> run() {
    double best = best_;
    for (std::size_t views = 0, waited = 0; views < kMostViews && waited < kPatience; ++views, ++waited) {
      if (classes_.graph().size() >= kMostNodes || space_.is_over()) break;
      if (refused_ < kMostRefused) combine(extract_greedy(classes_.graph(), roots_));
      const auto next = next_view();
      if (!next) {
        ++report_.complete;
        break;
      }
      look_at(view_of(*next));
      if (best_ < kLess * best) waited = 0;
      best = best_;
    }
    choose();
    report_.nodes += classes_.graph().size();
    report_.classes += classes_.graph().classes().size();
    std::vector<State> out;
    for (Reached& r : reached_) out.push_back(std::move(r.state));
    std::ranges::stable_sort(out, {}, &State::cost);
    return out;
  }

 private:
  struct Reached {
    State state;
    Placed placed;
    bool is_expanded = false;
  };

  // Whether one of the nodes is there for the first time.
  bool note(const Placed& placed) {
    bool is_new = false;
    for (const EGraph::NodeNumber n : placed.nodes) is_new |= known_.insert(n).second;
    return is_new;
  }
  std::optional<EGraph::NodeNumber> unseen(const Reached& reached) const {
    for (const EGraph::NodeNumber n : reached.placed.nodes)
      if (const auto now = classes_.graph().canonical_node(n); !seen_.contains(now)) return now;
    return std::nullopt;
  }

  // Programs with a node that is in no view yet first, then the cheapest.
  std::optional<std::size_t> next_view() {
    std::optional<std::size_t> out;
    std::pair<bool, double> least;
    for (std::size_t k = 0; k < reached_.size(); ++k) {
      if (reached_[k].is_expanded || reached_[k].state.cost >= kMostLoss * best_) continue;
      const std::pair rank{!unseen(reached_[k]), reached_[k].state.cost};
      if (out && rank >= least) continue;
      out = k;
      least = rank;
    }
    return out;
  }
  // The state, or the cheapest program that has what is new in it, if that is another one.
  std::size_t view_of(std::size_t number) {
    const auto node = unseen(reached_[number]);
    if (!node || refused_ >= kMostRefused) return number;
    const auto cheapest = extract_greedy(classes_.graph(), roots_, node);
    if (!cheapest || cheapest->price >= kLess * reached_[number].state.cost) return number;
    return combine(cheapest, reached_[number].state.cost).value_or(number);
  }

  void look_at(std::size_t number) {
    reached_[number].is_expanded = true;
    const Reached here = reached_[number];
    const Placed placed = classes_.current(here.placed);
    seen_.insert(placed.nodes.begin(), placed.nodes.end());
    const auto is_wanted = [&](const Proposal& p) {
      if (p.gain <= 0 && p.claim.after.operator_count() > kMostOfALoss) return false;
      return p.claim.outputs.empty() ||
             tried_.insert(classes_.key(here.state.draft.graph, placed, p.claim)).second;
    };
    for (State& next : space_.expand_wanted(here.state, kMostLoss * best_, is_wanted))
      admit(here, std::move(next));
    classes_.rebuild();
  }

  // A state that follows from another by proved steps: what they say is said in the e-graph.
  std::optional<std::size_t> admit(const Reached& from, State next) {
    Placed after = classes_.add(next.draft, space_.machine());
    for (std::size_t k = 0; k < roots_.size(); ++k) classes_.unite(roots_[k], after.outputs[k]);
    const ValuesByName old_names = values_by_name(from.state.draft.graph),
                       new_names = values_by_name(next.draft.graph);
    for (std::size_t k = from.state.draft.steps.size(); k < next.draft.steps.size(); ++k) {
      const auto* claim = std::get_if<Claim>(&next.draft.steps[k]);
      if (claim == nullptr) continue;
      for (const std::string& name : claim->outputs) {
        const auto a = old_names.find(name), b = new_names.find(name);
        if (a != old_names.end() && b != new_names.end())
          classes_.unite(from.placed.classes.at(a->second), after.classes.at(b->second));
      }
    }
    const bool is_new = note(after), is_better = next.cost < kLess * best_;
    if ((!is_new && !is_better) || !keys_.insert(space_.key(next)).second) return std::nullopt;
    best_ = std::min(best_, next.cost);
    reached_.push_back({.state = std::move(next), .placed = std::move(after)});
    return reached_.size() - 1;
  }

  // The chosen program as a state, if it costs less than `most`; the best so far, if nothing else is said.
  std::optional<std::size_t> combine(const std::optional<Extraction>& wanted,
                                     std::optional<double> most = std::nullopt) {
    if (!wanted || wanted->price >= kLess * most.value_or(best_)) return std::nullopt;
    const std::set<EGraph::NodeNumber> nodes = nodes_of(*wanted);
    if (!combined_.insert(nodes).second) return std::nullopt;
    const bool is_view = most.has_value();
    for (const auto& [base, claims] : bases(nodes)) {
      const Reached from = reached_[base];
      const auto all = proposals_for(classes_, from.state.draft.graph, classes_.current(from.placed), *wanted,
                                     space_.machine(), claims);
      auto made = all.empty() ? std::nullopt : space_.taken(from.state, all);
      if (!made && is_view) break;  // the state itself will do
      if (!made) continue;
      ++report_.proved;
      const auto number = admit(from, std::move(*made));
      classes_.rebuild();
      return number;
    }
    ++report_.not_proved;
    ++refused_;
    return std::nullopt;
  }
  // Where a program is best begun: the state that has most of it; and the region as it was, whose constants
  // are all there, in pieces or as a whole.
  std::vector<std::pair<std::size_t, Claims>> bases(const std::set<EGraph::NodeNumber>& nodes) const {
    std::size_t best = 0;
    std::ptrdiff_t most = -1;
    for (std::size_t k = 0; k < reached_.size(); ++k) {
      const std::set<EGraph::NodeNumber> own = classes_.current(reached_[k].placed).nodes;
      const auto common = std::ranges::count_if(nodes, [&](EGraph::NodeNumber n) { return own.contains(n); });
      if (common <= most) continue;
      most = common;
      best = k;
    }
    std::vector<std::pair<std::size_t, Claims>> out{{0, Claims::OfPieces}, {0, Claims::OfAll}};
    if (best != 0) out.insert(out.begin(), {best, Claims::OfPieces});
    return out;
  }

  // The best program of all, as far as it is proved.
  void choose() {
    std::vector<std::set<EGraph::NodeNumber>> refused;
    for (int k = 0; k < kMostChoices && !space_.is_over(); ++k) {
      const auto wanted = extract_exact(classes_.graph(), roots_, refused, space_.seconds_left());
      if (k == 0) ++(wanted ? report_.exact : report_.greedy);
      if (!wanted || wanted->price >= kLess * best_ || combine(wanted)) return;
      refused.push_back(nodes_of(*wanted));
    }
  }

  GraphSpace& space_;
  SearchReport::Saturation& report_;
  ProgramClasses classes_;
  std::vector<EGraph::Class> roots_;
  std::vector<Reached> reached_;
  std::set<EGraph::NodeNumber> known_, seen_;
  std::set<std::set<EGraph::NodeNumber>> combined_;
  std::set<std::string> keys_;
  std::set<Digest> tried_;
  double best_ = 0;
  int refused_ = 0;  // programs that were chosen and not proved
};

}  // namespace

std::vector<State> saturate(GraphSpace& space, const State& start, SearchReport::Saturation& report) {
  return Saturation(space, start, report).run();
}

}  // namespace isomer
