// Whether a plan computes what its formulas say, asked of isl: a checker that knows nothing of how plans are
// made.
//
//   each instance of a formula runs, and once; positions are written once, all of them, before anyone reads
//   them; no access leaves its memory; a packed factor is the factor; what lives at the same time lies apart;
//   what threads do at the same time is written to different places, and scratch memory is a thread's own
//
// Sums may be added up in any other order. What a C++ compiler makes of it is tested, not proved.
#pragma once

#include <optional>
#include <string>

#include "compiler/loops/nest.h"

namespace isomer::lower {

// What is wrong; nullopt: nothing. A question that isl leaves open counts as wrong.
std::optional<std::string> illegal(const Plan& plan);
// The same of one nest: its instances, and its accesses.
std::optional<std::string> illegal(const Plan& plan, const Nest& nest);
// The same of nests that run strip by strip, the first of which has this number.
std::optional<std::string> illegal_strips(const Plan& plan, std::size_t first);
// The same of where buffers are.
std::optional<std::string> overlapping(const Plan& plan);

}  // namespace isomer::lower
