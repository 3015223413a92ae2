// What a certificate takes for granted: operators of users' own domains, as they stated them
// (graph/operator_text.h). Nothing else is assumed, and whoever checks is told.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace isomer {

// The lines {"assume": "operator ..."} of a certificate for all operators that are declared.
std::string assumption_lines();

// Declares what a certificate assumes; the texts. Error: one that is no operator's, or not of an own domain.
Result<std::vector<std::string>> declare_assumptions(std::string_view certificate);

}  // namespace isomer
