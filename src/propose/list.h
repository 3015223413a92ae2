// The explicit list of proposers, and all that they propose for one graph.
#pragma once

#include <string>
#include <vector>

#include "rewrite/proposal.h"

namespace isomer {

struct Proposer {
  std::string name;
  Proposals (*propose)(const Graph& graph, const Inference& inference, const ProposeOptions& options);
  bool is_relaxed = false;  // its steps may lose by themselves: for strategies that look further
};

const std::vector<Proposer>& proposers();

// Largest gain first. A gain of zero or less is a bet on the runtime: only measuring can like it.
Proposals propose_all(const Graph& graph, const Inference& inference, const ProposeOptions& options = {});

}  // namespace isomer
