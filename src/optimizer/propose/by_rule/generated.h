// Proposals by rules: the pack of enumerated rules that is compiled into the program (rules/generated.rules),
// and the user's own rules. Both by the same path: a match is rewritten, and proved at its site like any
// other proposal.
#pragma once

#include "optimizer/facts/proposal.h"
#include "rules/text/rule_book.h"

namespace isomer {

// The proposals of a book for a graph. A rewrite without a saving by the analytic cost is proposed only if
// any price is accepted, or to strategies that look further (`relaxed`) if it adds no operators.
Proposals propose_by_rules(const Graph& graph, const Inference& inference, const ProposeOptions& options,
                           const rules::RuleBook& book, const std::string& kind);

}  // namespace isomer
