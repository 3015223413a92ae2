// A rule at a place where it matches, as a proposal.
#pragma once

#include <optional>
#include <string>

#include "optimizer/propose/by_rule/rule_match.h"

namespace isomer {

// The other side of the rule, in the graph's words. Several where it can be read in several ways: divided
// along an axis counted from the front, or from the back. Only what is well formed and has a price.
std::vector<Proposal> written(const Site& site, const RuleMatch& match, const std::string& kind);

}  // namespace isomer
