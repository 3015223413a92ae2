// The explicit list of proposers, and all that they propose for one graph.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "optimizer/facts/proposal.h"
#include "rules/text/rule_book.h"

namespace isomer {

struct Proposer {
  std::string name;
  // Null: the rules that the user gave (propose_by_rules).
  Proposals (*propose)(const Graph& graph, const Inference& inference, const ProposeOptions& options);
  // Its steps may lose by themselves, or break what others would do at once: for strategies that look
  // further, or where nobody else is asked.
  bool is_relaxed = false;
  // Asked once, before all others (propose_first): what it makes of a graph is what they look at.
  bool is_first = false;
};

const std::vector<Proposer>& proposers();

// Largest gain first. A gain of zero or less is a bet on the runtime: only measuring can like it. `seconds`:
// what each proposer took is added to it.
Proposals propose_all(const Graph& graph, const Inference& inference, const ProposeOptions& options = {},
                      const rules::RuleBook* user_rules = nullptr,
                      std::map<std::string, double>* seconds = nullptr);
// Largest gain first; of equals, in the order of the proposers. Without what rules say where another proposer
// saves as much, unless the price does not matter.
std::vector<Proposal> in_order(std::vector<Proposal> list, bool any_price);
Proposals propose_first(const Graph& graph, const Inference& inference, const ProposeOptions& options = {});

}  // namespace isomer
