// Sums of products as tiles of a matrix product, or by Winograd's algorithm. Internal to schedule_nests.cpp.
#pragma once

#include <optional>
#include <vector>

#include "compiler/schedule/layout.h"
#include "compiler/schedule/packing.h"
#include "compiler/schedule/schedule.h"

namespace isomer::lower {

// Nests that have to run before it, and it; nullopt: it is no product, or a small one.
std::optional<std::vector<Nest>> tile_nest(const Nest& nest, Packing& packing, Exactness exactness,
                                           const std::optional<TileRequest>& request = {});

}  // namespace isomer::lower
