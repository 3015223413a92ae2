// Strategies: how far a search looks before it applies a step. All of them walk the same space of states: a
// region as it is now, its history, its analytic price.
//
// `greedy` applies what is faster at once, over the whole model (search.cpp). `backtrack:ALPHA` searches one
// region after the other and accepts a temporary loss: states that cost less than ALPHA times the best so
// far, in the order of their cost (Jia et al., MetaFlow 2019, TASO 2019). `saturate` collects all states in
// an e-graph and chooses the best program of their parts (saturate.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "optimizer/search/options.h"

namespace isomer {

struct State {
  Draft draft;
  double cost = 0;
};

// Shared by strategies: the successors of a state, and whether a state was visited.
class StateSpace {
 public:
  virtual ~StateSpace() = default;
  // Every state that one proved step leads to and that costs less than `most`.
  virtual std::vector<State> expand(const State& state, double most) = 0;
  // Equal keys: equal except for names and for the values of larger constants. All states of a region compute
  // the same, so such states need not be distinguished.
  virtual std::string key(const State& state) const = 0;
  virtual bool is_over() = 0;
};

// The states that were reached, the cheapest first; `start` is one of them. Not for `saturate`.
std::vector<State> explore(StateSpace& space, const State& start, const Strategy& strategy);

}  // namespace isomer
