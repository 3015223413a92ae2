// The rules of a file, each decided for all sizes.
#pragma once

#include <filesystem>
#include <vector>

#include "rules/text/prove_rule.h"

namespace isomer {

struct Decided {
  Rule rule;
  RuleVerdict verdict;
  double ms = 0;
  bool as_expected = true;  // true where the rule's text expects nothing
};

// "g = 2, x [3, 4, 7, 5], w [2, 2, 3, 3]: output 0 at [0, 1, 0, 0] is -6 on the left, 4 on the right"
std::string example_text(const RuleCounterexample& example);

// Error: the file can't be read, is no text of rules, or names an unknown operator.
Result<std::vector<Decided>> decide_rules(const std::filesystem::path& file);

}  // namespace isomer
