// partial: almost right programs (mutants.h), with the positions where they are wrong computed as before.
#pragma once

#include <optional>
#include <vector>

#include "optimizer/facts/wrong_positions.h"
#include "optimizer/propose/positions/partial/mutants.h"

namespace isomer {

// How what is right and what was computed again become one value: side by side, or each with zeros around it
// and added, which needs numbers as sizes. (Choosing by a mask and writing over by indices are the same to a
// runtime, but constants of more than a few numbers are symbols to a proof.)
enum class Join : std::uint8_t { Concat, PadAndAdd };
std::optional<Proposal> correct(const Site& site, const Mutant& mutant, const WrongPositions& wrong,
                                Join join);

}  // namespace isomer
