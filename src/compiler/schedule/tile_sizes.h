// The sizes of the parts of a tiled product: heuristics about caches and registers. With open sizes the usual
// ones decide.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/loops/nest.h"
#include "compiler/schedule/schedule.h"

namespace isomer::lower {

// Columns of a panel.
std::int64_t panel_width(std::int64_t columns, std::int64_t rows);
// For a tile with known axes and width: outer rows (or rows) of a block, with all of a left factor at this
// address in the second cache.
void choose_block(Tile& tile, const Index& left, const Sizes& sizes);
// Panels that a tile of rows sees while it is in the first cache.
void choose_group(Tile& tile, const Sizes& sizes);
// A panel that is too long for the caches goes piece by piece, over a block of rows whose sums wait in
// memory. May make the block smaller.
void choose_pieces(Tile& tile, const Index& left, const Sizes& sizes);
// The sizes that a schedule requests instead.
void take_sizes(Tile& tile, const TileRequest& request, const Sizes& sizes);

}  // namespace isomer::lower
