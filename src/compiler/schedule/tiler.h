// Sums of products as tiles of a matrix product, or by Winograd's algorithm. Internal to schedule_nests.cpp.
#pragma once

#include <optional>
#include <vector>

#include "compiler/schedule/layout.h"
#include "compiler/schedule/packing.h"
#include "compiler/schedule/schedule.h"

namespace isomer::lower {

// Nests that have to run before it, and it; nullopt: it is no product, or a small one.
std::optional<std::vector<Nest>> tiled(const Nest& nest, Packing& packing, Exactness exactness,
                                       const std::optional<TileWish>& wish = {});

// Weights of a 3x3 convolution, transformed: u[edge·i + j][panel][channel][lane].
Storage transformed(const Storage& weights, const Winograd& w, bool has_values = true);

}  // namespace isomer::lower
