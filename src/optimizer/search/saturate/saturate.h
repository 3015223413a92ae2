// saturate: equality saturation of a region. The results of all proved steps go into an e-graph, where they
// hold for all programs at once; then the best program is chosen from all parts, which possibly no sequence
// of steps has reached. Proposers examine graphs, so they see the e-graph through *views*: for a node that is
// in no view yet, the cheapest program that has it.
//
// The chosen program is proved like any other, as claims about a reached state (chosen_program.h). Limits are
// numbers of views and of nodes, so that runs are reproducible.
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
