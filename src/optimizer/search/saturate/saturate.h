// saturate: equality saturation of a region. Everything that one proved step leads to goes into an e-graph,
// where it holds for all programs at once; then the best program is chosen out of all of their parts, which
// no sequence of steps may have reached. Proposers look at graphs, so the e-graph is looked at through
// *views*: for a node that no proposer has seen, the cheapest program that has it.
//
// What is chosen is proved like anything else, as claims about a state that was reached (chosen_program.h).
// Bounds are numbers of views and of nodes: the same run every time.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "optimizer/search/strategy.h"

namespace isomer {

// States that are graphs.
class GraphSpace : public StateSpace {
 public:
  using Wanted = std::function<bool(const Proposal&)>;
  // As `expand`, for proposals that are wanted.
  virtual std::vector<State> expand_wanted(const State& state, double most, const Wanted& is_wanted) = 0;
  // The state with all of these proposals; nullopt: one is not proved.
  virtual std::optional<State> taken(const State& state, const std::vector<Proposal>& all) = 0;
  virtual const Machine& machine() const = 0;
  virtual double seconds_left() const = 0;
};

// The states that were reached or put together, the cheapest first; `start` is one of them.
std::vector<State> saturate(GraphSpace& space, const State& start, SearchReport::Saturation& report);

}  // namespace isomer
