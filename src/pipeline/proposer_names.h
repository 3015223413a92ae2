// The proposers that a user may leave out, by name.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/result.h"

namespace isomer {

std::vector<std::string> proposer_names();

// Error: a name that no proposer has.
Result<std::set<std::string>> proposers_named(const std::vector<std::string>& names);

}  // namespace isomer
