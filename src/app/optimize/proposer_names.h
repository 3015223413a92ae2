// The proposers that a user may exclude or select, by name.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/result.h"

namespace isomer {

std::vector<std::string> proposer_names();

// The proposers that are not used: `without`, and all except `only`, if that names any. Error: an unknown
// name.
Result<std::set<std::string>> left_out_proposers(const std::vector<std::string>& without,
                                                 const std::vector<std::string>& only);

}  // namespace isomer
