// EmptiedCase: a drawn case with one of its extents made 0 wherever it occurs, and what its formula, defined
// with a symbol in the place of that extent, promises there.
#pragma once

#include "contract/drawn_case.h"

namespace isomer::contract {

struct EmptiedCase {
  enum class Promise : std::uint8_t {
    None,
    Runs,   // the runtime runs it, and computes what the formula says
    Fails,  // it fails, computes something that is not finite, or departs from the formula
  };
  DrawnCase drawn;  // need not be a legal call any more
  Promise promise = Promise::None;
  std::vector<Extents> shapes;  // of the outputs, as the formula has them
};

// `choice` says which extent, and whether constants and known integers have it, too. nullopt: there is none
// to empty.
std::optional<EmptiedCase> emptied_case(const DrawnCase& drawn, std::uint64_t choice);

}  // namespace isomer::contract
