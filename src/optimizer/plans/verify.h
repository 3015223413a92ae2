// Verifies a plan by itself: are its steps proved for its region? Weights are drawn, with the signs and
// equalities that the plan records; the model that uses the plan has other weights.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "optimizer/plans/plan.h"

namespace isomer {

// Nullopt: every step is proved, by both witnesses.
std::optional<std::string> why_not_proved(const Plan& plan, std::uint64_t key);

}  // namespace isomer
