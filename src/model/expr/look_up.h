// Σ_v (v = at ? value : 0), where `at` is computed and doesn't depend on v: a look-up, as the evaluator and
// compiled models do it.
#pragma once

#include <optional>

#include "model/expr/expr.h"

namespace isomer {

struct LookUp {
  Axis axis;
  ExprRef at, value;
};
// The look-up that a reduction is; nullopt: it is another one.
std::optional<LookUp> as_look_up(const ExprNode& expr);

}  // namespace isomer
