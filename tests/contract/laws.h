// The laws that every operator's definition keeps, each checked on one drawn case. Nothing here knows an
// operator.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "contract/drawn_case.h"
#include "model/expr/formula.h"

namespace isomer::contract {

using Violation = std::optional<std::string>;  // what was seen instead; nullopt: the law holds

struct Law {
  std::string_view name;
  Violation (*check)(const DrawnCase& drawn, const Formula& formula);
};

std::span<const Law> laws();

// The value itself (value_laws.cpp).
Violation shapes_are_those_computed(const DrawnCase& drawn, const Formula& formula);
Violation double_agrees_with_native(const DrawnCase& drawn, const Formula& formula);
Violation elements_agree_with_the_whole(const DrawnCase& drawn, const Formula& formula);

// What analysis reads off the formula (analysis_laws.cpp).
Violation linearity_is_true(const DrawnCase& drawn, const Formula& formula);
Violation zero_is_preserved_where_said(const DrawnCase& drawn, const Formula& formula);
Violation needed_regions_suffice(const DrawnCase& drawn, const Formula& formula);
Violation axis_roles_are_true(const DrawnCase& drawn, const Formula& formula);

}  // namespace isomer::contract
