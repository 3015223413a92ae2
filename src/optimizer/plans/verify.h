// A plan by itself: are its steps proved of its region? Weights are drawn, with the signs and equalities that
// the plan knows of those it came from: whoever takes it has others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "optimizer/plans/plan.h"

namespace isomer {

// Nullopt: every step is proved, by both witnesses.
std::optional<std::string> why_not_proved(const Plan& plan, std::uint64_t key);

}  // namespace isomer
