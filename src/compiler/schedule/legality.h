// Decides with isl whether a plan computes what its formulas say, without knowledge of how plans are made.
//
//   Each instance of a formula runs, and runs once. All positions are written, once, before they are read.
//   No access leaves its memory. A packed factor is the factor. Buffers that live at the same time do not
//   overlap. Concurrent threads write to different places, and each has its own scratch memory.
//
// Sums may be added in any other order. The output of the C++ compiler is tested, not proved.
#pragma once

#include <optional>
#include <string>

#include "compiler/loops/nest.h"

namespace isomer::lower {

// The first fault; nullopt: none. A question that isl leaves open counts as a fault.
std::optional<std::string> illegal(const Plan& plan);
// The same of one nest: its instances, and its accesses.
std::optional<std::string> illegal(const Plan& plan, const Nest& nest);
// The same of nests that run strip by strip, the first of which has this number.
std::optional<std::string> illegal_strips(const Plan& plan, std::size_t first);
// The same of where buffers are.
std::optional<std::string> overlapping(const Plan& plan);

}  // namespace isomer::lower
