// Loops of reductions that are no tiles. Internal to schedule_nests.cpp.
#pragma once

#include <vector>

#include "compiler/schedule/packing.h"

namespace isomer::lower {

// The nest with its loops in order, or two of them: sixteens of channels, and the rest.
std::vector<Nest> with_ordered_loops(const Nest& nest, Packing& packing);

}  // namespace isomer::lower
