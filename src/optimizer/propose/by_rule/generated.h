// Proposals by rules: the pack that comes with the program, which nobody wrote (rules/generated.rules), and
// the user's own. Both by the same path: what matches is written anew, and proved at its site like anything
// else.
#pragma once

#include "optimizer/facts/proposal.h"
#include "rules/text/rule_book.h"

namespace isomer {

// What a book says of a graph. What does not save anything by the analytic cost is proposed only to those who
// take any price, or look further (`relaxed`) if it adds no operators.
Proposals propose_by_rules(const Graph& graph, const Inference& inference, const ProposeOptions& options,
                           const rules::RuleBook& book, const std::string& kind);

}  // namespace isomer
