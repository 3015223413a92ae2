#include "optimizer/search/strategy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <queue>
#include <set>

namespace isomer {
namespace {

constexpr std::size_t kMostExpanded = 64;  // states of one region; MobileOne's blocks need less than 20

// States that were visited already, which are dropped.
class Transpositions {
 public:
  explicit Transpositions(const StateSpace& space) : space_(space) {}
  bool is_new(const State& state) { return seen_.insert(space_.key(state)).second; }

 private:
  const StateSpace& space_;
  std::set<std::string> seen_;
};

void sort_by_cost(std::vector<State>& states) { std::ranges::stable_sort(states, {}, &State::cost); }

std::vector<State> backtrack(StateSpace& space, const State& start, double alpha) {
  Transpositions seen(space);
  seen.is_new(start);
  std::vector<State> reached{start};
  // By cost, then by age: the same run every time.
  using Entry = std::pair<double, std::size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  open.emplace(start.cost, 0);
  double best = start.cost;
  for (std::size_t expanded = 0; !open.empty() && expanded < kMostExpanded && !space.is_over(); ++expanded) {
    const auto [cost, at] = open.top();
    open.pop();
    if (cost >= alpha * best && at != 0) continue;
    for (State& next : space.expand(State(reached[at]), alpha * best)) {
      if (!seen.is_new(next)) continue;
      best = std::min(best, next.cost);
      if (next.cost < alpha * best) open.emplace(next.cost, reached.size());
      reached.push_back(std::move(next));
    }
  }
  return reached;
}

template <class T>
bool is_number(std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Result<Strategy> parse_strategy(std::string_view text) {
  Strategy out;
  if (text == "greedy") return out;
  if (text == "saturate") {
    out.kind = Strategy::Kind::Saturate;
    return out;
  }
  const std::string_view name = text.substr(0, text.find(':')),
                         number = text.substr(std::min(name.size() + 1, text.size()));
  if (name == "backtrack") {
    out.kind = Strategy::Kind::Backtrack;
    if (is_number(number, out.alpha) && out.alpha >= 1 && out.alpha <= 10) return out;
  }
  if (name == "beam")
    return Error{fmt::format(
        "--strategy {}: beam was removed, since backtrack finds as much in less time; use backtrack:1.05",
        text)};
  return Error{fmt::format("--strategy {}: greedy, backtrack:ALPHA (1.05) or saturate", text)};
}

std::vector<State> explore(StateSpace& space, const State& start, const Strategy& strategy) {
  std::vector<State> out;
  switch (strategy.kind) {
    case Strategy::Kind::Greedy:
    case Strategy::Kind::Saturate: out = {start}; break;
    case Strategy::Kind::Backtrack: out = backtrack(space, start, strategy.alpha); break;
  }
  sort_by_cost(out);
  return out;
}

}  // namespace isomer
