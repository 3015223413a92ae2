// The rules of a file, each decided for all sizes.
#pragma once

#include <filesystem>
#include <vector>

#include "rules/prove_rule.h"

namespace isomer {

struct Decided {
  Rule rule;
  RuleVerdict verdict;
  double ms = 0;
  bool as_expected = true;  // true where the rule's text expects nothing
};

// Error: the file can't be read, is no text of rules, or names an operator that nobody knows.
Result<std::vector<Decided>> decide_rules(const std::filesystem::path& file);

}  // namespace isomer
