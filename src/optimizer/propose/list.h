// The explicit list of proposers, and all that they propose for one graph.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "optimizer/propose/proposer.h"
#include "rules/text/rule_book.h"

namespace isomer {

std::span<const Proposer* const> proposers();
// Null: no proposer has this name.
const Proposer* proposer_named(std::string_view name);

// Largest gain first. A gain of zero or less is a bet on the runtime: only measuring can like it. `seconds`:
// what each proposer took is added to it.
Proposals propose_all(const Graph& graph, const Inference& inference, const ProposeOptions& options = {},
                      const rules::RuleBook* user_rules = nullptr,
                      std::map<std::string, double>* seconds = nullptr);
Proposals propose_first(const Graph& graph, const Inference& inference, const ProposeOptions& options = {});

}  // namespace isomer
