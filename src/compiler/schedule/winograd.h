// 3x3 convolutions by Winograd's F(4, 3) or F(2, 3). Internal to tiler.cpp.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/schedule/layout.h"
#include "compiler/schedule/packing.h"
#include "compiler/schedule/product_nest.h"
#include "compiler/schedule/schedule.h"

namespace isomer::lower {

// The nest with tiles of Winograd's, if it is a 3x3 window that moves by one, of channels that lie next to
// each other, over an image that is not small. False: it is not, and the nest is as it was.
bool take_winograd(ProductNest& product, Packing& packing, Exactness exactness,
                   const std::optional<TileRequest>& request);

// Weights of a 3x3 convolution, transformed: u[edge·i + j][panel][channel][lane].
Storage transform_weights(const Storage& weights, const Winograd& w, bool has_values);

}  // namespace isomer::lower
