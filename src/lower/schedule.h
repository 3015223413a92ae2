// A schedule: how the loops of one nest run, as lines of text.
//
//   split NAME BY       NAME becomes NAME.o (outside) and NAME.i (inside, BY long)
//   fuse A B            loops that follow each other become one, A.B
//   reorder A B ...     these loops, in the places that they have, in this order
//   unroll NAME | vectorize NAME | parallel NAME
//
// Loops begin as i0, i1, ... (axes of the tensor) and r0, r1, ... (axes that are summed over). Nothing is
// believed: legality.h asks whether the result runs what the formula says.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lower/compose.h"
#include "lower/nest.h"

namespace isomer::lower {

// The nest with its own loops changed by a line. Error: what is wrong with the line.
Status apply_schedule(Nest& nest, std::string_view line, AxisNumbers& numbers);

// Lines by the name of a nest. A text of parts "nest NAME" followed by lines; # begins a comment.
using Schedules = std::map<std::string, std::vector<std::string>, std::less<>>;
Result<Schedules> parse_schedules(std::string_view text);

// Nests that are named get plain loops, then their lines. Error: a nest that is not there, or a line that
// fails.
Status apply_schedules(Plan& plan, const Schedules& schedules, AxisNumbers& numbers);

}  // namespace isomer::lower
