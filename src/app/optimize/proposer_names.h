// The proposers that a user may leave out or ask alone, by name.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/result.h"

namespace isomer {

std::vector<std::string> proposer_names();

// Those that are not asked: `without`, and all but `only`, if that names any. Error: a name that no proposer
// has.
Result<std::set<std::string>> left_out_proposers(const std::vector<std::string>& without,
                                                 const std::vector<std::string>& only);

}  // namespace isomer
