// Terms written as the body of a rule (docs/reference/rules.md).
#pragma once

#include <string>

#include "rules/generate/term.h"

namespace isomer::rules {

// "{ v0 = MatMul(x0, x1)\n v1 = Relu(v0) } => v1"; names are those of the variables. Outputs are places in
// the list of terms; none: the last one.
std::string body_text(const Words& words, const std::vector<Term>& terms,
                      const std::vector<std::string>& names, std::vector<TermId> outputs = {});

}  // namespace isomer::rules
