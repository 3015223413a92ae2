// A user's own rules for `optimize`: read, each decided for all sizes, and made ready for the proposer
// `user`.
#pragma once

#include <memory>

#include "app/rules/decide_rules.h"
#include "rules/text/rule_book.h"

namespace isomer {

struct UserRules {
  std::vector<Decided> decided;
  std::shared_ptr<const rules::RuleBook> book;  // of those that are not refuted
};

// Reads a file, or all files *.rules of a folder, in the order of their names. Error: as decide_rules; a
// folder without such a file.
Result<UserRules> read_user_rules(const std::filesystem::path& place);

// "rule merge is false and is not used: for example, g = 2, x [3, 4]: output 0 at [0, 1] is -6 on the left, 4
// on the right"; "": it is used for all sizes.
std::string remark(const Decided& rule);

}  // namespace isomer
