// The work of the evaluator on a formula, to decide in advance whether a constant is worth folding.
#pragma once

#include <optional>

#include "model/expr/formula.h"

namespace isomer {

// Parts of expressions that it visits. Unlike cost(), this counts what it takes to find an index: a scatter
// looks through all updates for each element. nullopt: sizes are open.
std::optional<double> evaluation_visits(const Formula& formula);

}  // namespace isomer
